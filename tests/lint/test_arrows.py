"""Arrows between the rooms point one way."""

import arrows


def test_no_include_points_back(tree):
    assert not arrows.violations(tree)


def test_every_folder_is_a_known_room(tree):
    rooms = {path.name for top in ("src", "include/walpost") for path in (tree / top).iterdir() if path.is_dir()}
    assert rooms <= set(arrows.SEES), "a new room: say in lint/arrows.py what it may see"


def test_headers_stand_where_their_sources_do(tree):
    strays = [path for path in tree.glob("include/walpost/*.h")]
    assert not strays


def _planted(tmp_path, where, line):
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(f"{line}\n")
    return arrows.violations(tmp_path)


def test_a_planted_include_that_points_back_is_found(tmp_path):
    assert _planted(tmp_path, "src/wal/frame.c", '#include "walpost/relay/ledger.h"')


def test_a_planted_back_pointing_include_of_a_header_is_found(tmp_path):
    assert _planted(tmp_path, "include/walpost/base/rc.h", '#include "walpost/wal/lsn.h"')


def test_a_planted_foreign_header_is_found(tmp_path):
    assert _planted(tmp_path, "src/outbox/route.c", "#include <libpq-fe.h>")


def test_a_planted_clock_in_a_pure_room_is_found(tmp_path):
    assert _planted(tmp_path, "src/relay/ledger.c", "#include <time.h>")


def test_a_planted_log_in_a_pure_room_is_found(tmp_path):
    assert _planted(tmp_path, "src/outbox/table.c", '#include "walpost/base/log.h"')


def test_an_include_along_the_arrow_is_fine(tmp_path):
    assert not _planted(tmp_path, "src/kafka_send/producer.c", '#include "walpost/sink/sink.h"')


def test_the_loop_may_see_libev_but_the_machine_may_not(tmp_path):
    assert not _planted(tmp_path, "src/run/loop.c", "#include <ev.h>")
    (tmp_path / "src/relay").mkdir()
    (tmp_path / "src/relay/machine.c").write_text("#include <ev.h>\n")
    assert arrows.violations(tmp_path)
