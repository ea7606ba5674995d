/* These are the parts of the page that never change. */
#ifndef WALPOST_SRC_TELEMETRY_PAGE_STYLE_H
#define WALPOST_SRC_TELEMETRY_PAGE_STYLE_H

#define WP_PAGE_HEAD                                                                               \
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                  \
	"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"                \
	"<meta name=\"color-scheme\" content=\"light dark\">\n"                                    \
	"<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n"                      \
	"<style>\n"                                                                                \
	":root{--back:#f6f7f9;--card:#fff;--text:#1c2430;--soft:#5b6675;--line:#dde2e9;"           \
	"--blue:#1f6feb;--good:#1a7f37;--warn:#9a6700;--bad:#cf222e}\n"                            \
	"@media(prefers-color-scheme:dark){:root{--back:#0f141a;--card:#18202a;--text:#e4e9f0;"    \
	"--soft:#97a3b3;--line:#2c3744;--blue:#58a6ff;--good:#3fb950;--warn:#d29922;"              \
	"--bad:#f85149}}\n"                                                                        \
	"*{box-sizing:border-box}\n"                                                               \
	"body{margin:0;background:var(--back);color:var(--text);"                                  \
	"font:15px/1.45 system-ui,sans-serif}\n"                                                   \
	"main{max-width:72rem;margin:0 auto;padding:1rem}\n"                                       \
	"h1{font-size:1.35rem;margin:0 .6rem 0 0}\n"                                               \
	"h2{font-size:1rem;margin:0 0 .6rem}\n"                                                    \
	"header{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;margin-bottom:.5rem}\n"   \
	".badge{border-radius:1rem;padding:.1rem .7rem;font-weight:600;color:#fff;"                \
	"background:var(--good)}\n"                                                                \
	"@media(prefers-color-scheme:dark){.badge{color:#0f141a}}\n"                               \
	".badge.warn{background:var(--warn)}.badge.bad{background:var(--bad)}\n"                   \
	".soft{color:var(--soft)}\n"                                                               \
	".badge.idle{background:var(--soft)}\n"                                                    \
	"#trouble ul{list-style:none;margin:0;padding:0}\n"                                        \
	"#trouble li{border-left:.25rem solid var(--warn);padding:.1rem 0 .1rem "                  \
	".7rem;margin-top:.6rem}\n"                                                                \
	"#trouble li.bad{border-color:var(--bad)}\n"                                               \
	"#trouble p{margin:.15rem 0;overflow-wrap:anywhere}\n"                                     \
	".grid{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));" \
	"margin-bottom:.8rem}\n"                                                                   \
	".grid.wide{grid-template-columns:repeat(auto-fit,minmax(18rem,1fr))}\n"                   \
	"section,.card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;"   \
	"padding:.8rem;min-width:0}\n"                                                             \
	"section{margin-bottom:.8rem}\n"                                                           \
	".card b{display:block;font-size:1.4rem;font-variant-numeric:tabular-nums}\n"              \
	".card h2{margin:0 0 .4rem}.card h2 "                                                      \
	".soft{display:block;font-weight:400;font-size:.85rem}\n"                                  \
	".chart{display:grid;grid-template-columns:auto 1fr;gap:.15rem .5rem}\n"                   \
	".scale,.times{display:flex;justify-content:space-between;color:var(--soft);font-size:."   \
	"75rem;line-height:1;font-variant-numeric:tabular-nums}\n"                                 \
	".scale{flex-direction:column;text-align:right;min-width:3.4rem}.times{grid-column:2}\n"   \
	"svg{display:block;width:100%;height:5rem}\n"                                              \
	"svg path{stroke:var(--line);fill:none;vector-effect:non-scaling-stroke}\n"                \
	"svg polyline{fill:none;stroke:var(--blue);stroke-width:1.5;"                              \
	"vector-effect:non-scaling-stroke}\n"                                                      \
	"svg polygon{fill:var(--blue);opacity:.14}\n"                                              \
	".scroll{overflow-x:auto}\n"                                                               \
	"table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"           \
	"th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-top:1px solid var(--line);"    \
	"vertical-align:top}\n"                                                                    \
	"tr:first-child th,tr:first-child td{border-top:0}\n"                                      \
	"th{font-weight:600;white-space:nowrap}\n"                                                 \
	"td.number,th.number{text-align:right;white-space:nowrap}\n"                               \
	"td.time,td.event{white-space:nowrap;width:1%}td.text{overflow-wrap:anywhere;min-width:"   \
	"14rem}\n"                                                                                 \
	".error{color:var(--bad)}.warn-text{color:var(--warn)}\n"                                  \
	"pre{overflow-x:auto;margin:.6rem 0 0;font-size:.85rem}\n"                                 \
	".grid section{margin:0}\n"                                                                \
	"@media(max-width:44rem){th{white-space:normal}td{overflow-wrap:anywhere}"                 \
	"td.text{min-width:0}#notes tr{display:block;border-top:1px solid var(--line)}"            \
	"#notes td{display:inline-block;border:0}#notes td.time{font-size:.8rem}"                  \
	"#notes tr:first-child{border-top:0}}\n"                                                   \
	"summary{cursor:pointer;font-weight:600}\n"                                                \
	"footer{color:var(--soft);font-size:.85rem;padding:.4rem 0 1.5rem}\n"                      \
	"a{color:var(--blue)}\n"                                                                   \
	"</style>\n"

/* The script fetches the page itself and puts its new <main> in the old one's place; what is open stays so. */
#define WP_PAGE_SCRIPT                                                                         \
	"<script>\n"                                                                           \
	"async function fresh(){\n"                                                            \
	" const note=document.getElementById('fresh');\n"                                      \
	" try{\n"                                                                              \
	"  const answer=await fetch('/',{cache:'no-store'});\n"                                \
	"  const page=new DOMParser().parseFromString(await answer.text(),'text/html');\n"     \
	"  const "                                                                             \
	"next=page.querySelector('main'),old=document.querySelector('main');fresh.since='';\n" \
	"  old.querySelectorAll('details').forEach((d,i)=>{const to=next.querySelectorAll("    \
	"'details')[i];if(to)to.open=d.open});\n"                                              \
	"  old.replaceWith(next);document.title=page.title;\n"                                 \
	"  const shown=document.getElementById('fresh');if(shown)shown.textContent="           \
	"'refreshed every 2 s';\n"                                                             \
	" }catch(e){const since='since '+(fresh.since||(fresh.since=new "                      \
	"Date().toLocaleTimeString()));\n"                                                     \
	"  const state=document.getElementById('state');\n"                                    \
	"  if(note)note.textContent='walpost does not answer '+since;\n"                       \
	"  if(state){state.textContent='No answer '+since;state.className='badge bad'}\n"      \
	"  document.title='walpost: no answer'}\n"                                             \
	"}\n"                                                                                  \
	"setInterval(()=>{if(!document.hidden)fresh()},2000);\n"                               \
	"</script>\n"

#endif
