"""Places an order and inserts its event, in one transaction, with SQLAlchemy.

    DATABASE_URL=postgresql+psycopg://app@localhost/shop python place_order.py outbox|emit ORDER CUSTOMER CENTS
"""

import os
import sys
import uuid

from sqlalchemy import BigInteger, String, Uuid, cast, create_engine, func, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(primary_key=True)
    customer: Mapped[str]
    cents: Mapped[int] = mapped_column(BigInteger)

    def placed(self):
        """The payload: a shape of its own, not the row."""
        return {"order": self.id, "customer": self.customer, "cents": self.cents}


class OutboxEvent(Base):
    __tablename__ = "outbox"

    id: Mapped[uuid.UUID] = mapped_column(Uuid, primary_key=True, default=uuid.uuid4)
    aggregatetype: Mapped[str] = mapped_column(String(255))
    aggregateid: Mapped[str] = mapped_column(String(255))
    type: Mapped[str] = mapped_column(String(255))
    payload: Mapped[dict] = mapped_column(JSONB)


def place(session, order):
    """The order, and a row in the outbox."""
    session.add(order)
    session.add(OutboxEvent(aggregatetype="order", aggregateid=order.id, type="OrderPlaced", payload=order.placed()))


def place_by_message(session, order):
    """The order, and an event that exists only in the WAL; returns the event's id."""
    session.add(order)
    session.flush()
    return session.scalar(select(func.walpost.emit("order", order.id, "OrderPlaced", cast(order.placed(), JSONB))))


if __name__ == "__main__":
    how, order_id, customer, cents = sys.argv[1:]
    engine = create_engine(os.environ["DATABASE_URL"])
    order = Order(id=order_id, customer=customer, cents=int(cents))
    with Session(engine) as session, session.begin():
        {"outbox": place, "emit": place_by_message}[how](session, order)
