#pragma once

namespace mgpu::report {

/// The page's style sheet. The hues are those of Okabe and Ito, which color-blind people can
/// distinguish. The colors are darker in the light palette and lighter in the dark palette, so that
/// thin lines and labels keep their contrast. The phase `waiting for ranks` is red.
inline constexpr const char* kStyle = R"css(
:root { color-scheme: light dark;
  --page:#f6f6f4; --card:#ffffff; --ink:#16181d; --soft:#5c6370; --rule:#e3e4e8; --grid:#ebecef;
  --c1:#0063a6; --c2:#c26e00; --c3:#00795a; --c4:#a2457f; --c5:#7a6a00; --c6:#4d5bb8;
  --ref:#767c87; --back:#eef0f4; --red:#d4202c; --amber:#ef8a4c;
  --p-forward:#3d8fcc; --p-backward:#0063a6; --p-optimizer:#56b6a8; --p-evaluation:#3fa66b;
  --p-checkpoints:#e3c443; --p-start-up:#a9a3d6; --p-histories:#b87fb0; --p-other:#c9ccd3;
  --p-none:#eceef1; --goal:#f7d774; --room:#fbfbfa; --heat:208,112,0; --right:#00795a; --wrong:#c26e00;
  --shade:rgba(0,0,0,.22); }
@media screen and (prefers-color-scheme: dark) { :root {
  --page:#0f1216; --card:#171b21; --ink:#e9ebef; --soft:#9aa2b0; --rule:#2a303a; --grid:#262c35;
  --c1:#5cb8f2; --c2:#f2ab4c; --c3:#3fcf9f; --c4:#e390c2; --c5:#d9c84a; --c6:#9aa7ff;
  --ref:#8b93a1; --back:#1f252d; --red:#ff5a61; --amber:#ff9c63;
  --p-forward:#6fb4e6; --p-backward:#2f7fc0; --p-optimizer:#5cc7b8; --p-evaluation:#4fbf80;
  --p-checkpoints:#e6ca55; --p-start-up:#8f88cf; --p-histories:#b87fb0; --p-other:#59616d;
  --p-none:#20262e; --goal:#8a6d1a; --room:#1b2027; --heat:205,122,20; --right:#178a66; --wrong:#b5731f;
  --shade:rgba(255,255,255,.3); } }
* { box-sizing: border-box; }
body { margin:0; background:var(--page); color:var(--ink);
  font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif; }
main { max-width:1120px; margin:0 auto; padding:36px 24px 60px; }
.eyebrow { color:var(--soft); font-size:13px; letter-spacing:.02em; display:flex; gap:10px;
  align-items:center; flex-wrap:wrap; }
.status { border-radius:99px; padding:1px 10px; font-weight:600; color:#fff; background:var(--c3); }
.status.stopped, .status.incomplete { background:var(--c2); }
@media screen and (prefers-color-scheme: dark) { .status { color:#0f1216; } }
h1 { font-size:29px; line-height:1.27; font-weight:650; letter-spacing:-.012em; margin:12px 0 22px;
  max-width:33em; text-wrap:balance; }
h2 { font-size:18px; font-weight:650; margin:38px 0 12px; letter-spacing:-.005em; }
h3 { font-size:14.5px; font-weight:600; margin:0 0 6px; }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(165px,1fr)); gap:12px; }
.tile, figure, .card { background:var(--card); border:1px solid var(--rule); border-radius:10px; }
.tile { padding:13px 16px 12px; }
.tile b { display:flex; flex-wrap:wrap; align-items:baseline; column-gap:6px; font-size:27px;
  line-height:1.2; font-weight:650; letter-spacing:-.02em; font-variant-numeric:tabular-nums; }
.tile small { font-size:15px; letter-spacing:0; font-weight:600; color:var(--soft); }
.tile em { color:var(--soft); font-size:13px; line-height:1.35; display:block; font-style:normal; }
figure { margin:0 0 14px; padding:16px 18px 12px; }
figure svg { display:block; width:100%; height:auto; overflow:visible; }
figcaption { color:var(--soft); font-size:13px; margin-top:8px; max-width:75em;
  text-wrap:pretty; }
.side { display:grid; grid-template-columns:repeat(auto-fill,minmax(430px,1fr)); gap:14px; }
.paths { display:grid; grid-template-columns:repeat(auto-fill,minmax(225px,1fr)); gap:18px 24px; }
.pair { display:grid; grid-template-columns:1fr 1fr; gap:8px; }
.pair p { margin:0 0 4px; font-size:12.5px; grid-column:1/-1; color:var(--soft); }
.pair div { font-size:12px; color:var(--soft); } .pair svg { margin-bottom:3px; }
.pair b { color:var(--ink); font-variant-numeric:tabular-nums; }
.note { padding:11px 16px; margin-bottom:8px; border-left:4px solid var(--amber); }
.note code { font-size:13px; }
code, dd { font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
  font-size:12.5px; }
dl { display:grid; grid-template-columns:max-content 1fr; gap:3px 22px; margin:0;
  padding:14px 18px; }
dt { color:var(--soft); font-size:13px; } dd { margin:0; overflow-wrap:anywhere;
  white-space:pre-wrap; }
.scroll { overflow-x:auto; padding:10px 18px 14px; margin-bottom:14px;
  background:linear-gradient(to right,var(--card) 30px,transparent 60px) left/60px 100% local,
    linear-gradient(to left,var(--card) 30px,transparent 60px) right/60px 100% local,
    linear-gradient(to right,var(--shade),transparent) left/14px 100% scroll,
    linear-gradient(to left,var(--shade),transparent) right/14px 100% scroll, var(--card);
  background-repeat:no-repeat; }
table { border-collapse:collapse; font-size:13px; font-variant-numeric:tabular-nums; width:100%; }
caption { text-align:left; font-weight:600; font-size:14px; padding:4px 0 6px; }
th { color:var(--soft); font-weight:500; } th, td { text-align:right; padding:4px 10px;
  border-bottom:1px solid var(--grid); } th:first-child, td:first-child { text-align:left;
  padding-left:0; }
tr:last-child td { border-bottom:0; } td:not(:first-child) { white-space:nowrap; }
.texts th, .texts td { text-align:left; vertical-align:top; overflow-wrap:anywhere; }
.texts td { white-space:pre-wrap; } .texts th, .texts td { min-width:6em; }
.texts th, .texts .word { overflow-wrap:normal; }
.tokens { white-space:pre-wrap; overflow-wrap:anywhere; line-height:1.95; unicode-bidi:isolate;
  font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
  font-size:13.5px; }
p.row { color:var(--soft); font-size:13px; margin:14px 0 2px; } .words { margin:2px 0 6px; }
.t { padding:2px 0; border-radius:2px; box-shadow:inset -1px 0 var(--card); cursor:default; }
.t.prompt { font-style:italic; }
.t:hover, .t:focus { outline:2px solid var(--ink); outline-offset:-1px; }
.t:hover::after, .t:focus::after { content:attr(data-view); position:fixed; left:50%; bottom:10px;
  transform:translateX(-50%); box-sizing:border-box; width:min(1070px,calc(100vw - 20px)); max-height:45vh; z-index:2;
  overflow:hidden; background:var(--card); color:var(--ink); border:1px solid var(--ref);
  border-radius:10px; padding:10px 16px; box-shadow:0 4px 20px rgba(0,0,0,.35); font-style:normal;
  font-size:13px; line-height:1.55; white-space:pre-wrap; unicode-bidi:isolate; }
.t:hover::after { z-index:3; }
.tree td, .tree th { border:0; padding:2px 3px; text-align:center; } .tree th { padding:2px 8px; }
.tree .t { display:block; padding:1px 8px; text-align:center; cursor:pointer; }
.scale { display:flex; align-items:center; gap:6px; color:var(--soft); font-size:12.5px;
  margin:2px 0 0; flex-wrap:wrap; }
.scale span { color:var(--ink); padding:1px 7px; border-radius:3px; border:1px solid var(--rule);
  font-variant-numeric:tabular-nums; }
.e1 { background:rgba(var(--heat),.07); } .e2 { background:rgba(var(--heat),.15); }
.e3 { background:rgba(var(--heat),.23); } .e4 { background:rgba(var(--heat),.31); }
.e5 { background:rgba(var(--heat),.39); } .e6 { background:rgba(var(--heat),.47); }
.e7 { background:rgba(var(--heat),.55); } .e8 { background:rgba(var(--heat),.63); }
footer { color:var(--soft); font-size:12.5px; margin-top:34px; }
svg text { fill:var(--soft); font-size:12.5px; }
svg .tick, svg .legend { font-variant-numeric:tabular-nums; } svg .axis-name { font-size:12px; }
svg .grid { stroke:var(--grid); } svg .axis { stroke:var(--ref); }
  svg .leader { stroke:var(--ref); stroke-width:.7; }
svg .level { stroke:var(--ref); stroke-dasharray:2 4; stroke-width:1.3; }
svg .backdrop { fill:var(--back); } svg .backdrop-name { font-size:11.5px; }
svg .curve { fill:none; stroke-width:1.9; stroke-linejoin:round; stroke-linecap:round; }
svg .curve.strong { stroke-width:3.4; } svg .dash { stroke-dasharray:6 5; }
svg .name { font-size:13px; font-weight:500; } svg .name.strong { font-weight:700; font-size:14px; }
svg .band { opacity:.15; stroke:none; }
svg .dot { stroke:var(--card); stroke-width:1.2; }
)css"
                                      R"css(
svg .c1 { stroke:var(--c1); } svg .c1.band, svg .c1.dot, svg .c1.name { fill:var(--c1); }
svg .c2 { stroke:var(--c2); } svg .c2.band, svg .c2.dot, svg .c2.name { fill:var(--c2); }
svg .c3 { stroke:var(--c3); } svg .c3.band, svg .c3.dot, svg .c3.name { fill:var(--c3); }
svg .c4 { stroke:var(--c4); } svg .c4.band, svg .c4.dot, svg .c4.name { fill:var(--c4); }
svg .c5 { stroke:var(--c5); } svg .c5.band, svg .c5.dot, svg .c5.name { fill:var(--c5); }
svg .c6 { stroke:var(--c6); } svg .c6.band, svg .c6.dot, svg .c6.name { fill:var(--c6); }
svg .bar { stroke:none; } svg .c1.bar { fill:var(--c1); } svg .c2.bar { fill:var(--c2); }
  svg .c3.bar { fill:var(--c3); } svg .c4.bar { fill:var(--c4); }
  svg .c5.bar { fill:var(--c5); } svg .c6.bar { fill:var(--c6); }
svg .bar-name { fill:var(--card); font-weight:600; }
svg .rows { paint-order:stroke; stroke:var(--card); stroke-width:4px; font-size:11.5px; }
svg .whisker { stroke-width:2.4; opacity:.6; }
svg .cell.right { fill:var(--right); } svg .cell.wrong { fill:var(--wrong); }
svg .count { fill:var(--ink); font-size:15px; font-weight:600; }
  svg .share { fill:var(--ink); }
svg .ref.name { fill:var(--ref); } svg .name, svg .dot { stroke:none; }
svg .ph-wait { fill:var(--red); } svg .ph-exposed { fill:var(--amber); }
svg .ph-forward { fill:var(--p-forward); } svg .ph-backward { fill:var(--p-backward); }
svg .ph-optimizer { fill:var(--p-optimizer); }
  svg .ph-evaluation { fill:var(--p-evaluation); }
svg .ph-checkpoints { fill:var(--p-checkpoints); }
  svg .ph-start-up { fill:var(--p-start-up); }
svg .ph-histories { fill:var(--p-histories); } svg .ph-other { fill:var(--p-other); }
svg .ph-0 { fill:#7fd1e8; } svg .ph-1 { fill:#8c6d31; } svg .ph-2 { fill:#e6a3b4; }
svg .ph-3 { fill:#8a9a2b; } svg .ph-4 { fill:#5b4b8a; } svg .ph-5 { fill:#c2b280; }
svg .ph-6 { fill:#708090; } svg .ph-7 { fill:#b5e07a; }
svg .ph-none { fill:var(--p-none); } svg .mem-allocated { fill:var(--c1); }
svg .mem-reserved { fill:var(--p-forward); opacity:.45; }
svg .room { fill:var(--room); stroke:var(--rule); } svg .wall { stroke:var(--grid);
  stroke-width:.7; }
svg .goal { fill:var(--goal); } svg .step { stroke:var(--c1); stroke-width:2.6;
  stroke-linecap:round; }
svg .start { fill:var(--card); stroke:var(--c1); stroke-width:1.6; } svg .stop { fill:var(--c1); }
@media screen and (max-width:760px) { .side { grid-template-columns:1fr; }
  figure { overflow-x:auto; }
  figure > svg { min-width:860px; } .side figure > svg { min-width:0; }
  figure > svg + figcaption::before { content:"Wider than the screen: scroll the chart sideways. ";
    color:var(--ink); }
  .side figure > svg + figcaption::before { content:none; }
  .stacked tr { display:block; padding:5px 0; border-bottom:1px solid var(--grid); }
  .stacked tr:first-of-type { display:none; }
  .stacked td { display:block; border:0; padding:0; } .stacked td:first-child { font-weight:600; }
  .stacked td:nth-child(n+3) { color:var(--soft); }
  .stacked tr:last-child { border-bottom:0; }
  .side svg text { font-size:15px; } h1 { font-size:23px; } main { padding:20px 14px; } }
@page { size:A4; margin:13mm; }
@media print { :root { color-scheme:light; } body { background:#fff; font-size:12px; }
  main { max-width:none; padding:0; } h1 { font-size:22px; } h2 { break-after:avoid;
  margin-top:20px; }
  .side { grid-template-columns:1fr 1fr; } .tiles { grid-template-columns:repeat(5,1fr); gap:7px; }
  .tile { padding:8px 10px; } .tile b { font-size:19px; } .tile em { font-size:11px; }
  figure, .tile, .note, .pair, .scroll { break-inside:avoid; }
  figure { padding:10px 12px 8px; } .pair div { font-size:9.5px; }
  .pair p, figcaption { font-size:10.5px; }
  figure > svg text, svg .name { font-size:15.5px; }
  .side svg text, .side svg .name { font-size:14px; } figure > svg .legend { font-size:12.5px; }
  .paths { grid-template-columns:repeat(4,1fr); gap:10px 14px; }
  * { print-color-adjust:exact; -webkit-print-color-adjust:exact; } }
)css";

}  // namespace mgpu::report
