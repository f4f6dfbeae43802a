"""How a certificate looks: on a screen, light or dark, narrow or wide, and on paper."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --page: #f6f7f9; --card: #fff;
  --accent: #1f6f5c; --warn: #9a5b00; --code: #eef1f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf0; --soft: #a0abb8; --line: #303a46; --page: #12171d;
  --card: #1a2129; --accent: #67c5ab; --warn: #e5ab55; --code: #242d37; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
header { border-top: 4px solid var(--accent); background: var(--card); padding: 1.75rem; border-radius: 0 0 12px 12px; }
.kind { margin: 0; color: var(--accent); font-weight: 600; letter-spacing: .02em; }
h1 { margin: .25rem 0 .75rem; font-size: 2rem; line-height: 1.2; overflow-wrap: anywhere; }
.lead { margin: 0 0 1rem; font-size: 1.15rem; max-width: 44rem; }
.badge { display: inline-block; margin: 0; padding: .25rem .75rem; border: 1px solid var(--accent); border-radius: 99px;
  color: var(--accent); font-size: .9rem; font-weight: 600; }
.badge.off { border-color: var(--warn); color: var(--warn); }
section { margin-top: 1.25rem; background: var(--card); border-radius: 12px; padding: 1.25rem 1.75rem 1.5rem; }
h2 { margin: 0 0 .75rem; font-size: 1.15rem; }
h3 { margin: 1.25rem 0 .25rem; font-size: 1rem; }
dl { margin: 0; }
dl div { display: grid; grid-template-columns: 12rem 1fr; gap: 1rem; padding: .4rem 0;
  border-top: 1px solid var(--line); }
dl div:first-child { border-top: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
pre, code { font: .875em/1.5 ui-monospace, monospace; background: var(--code); border-radius: 6px; }
pre { margin: 0 0 1rem; padding: .9rem 1.1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
code { padding: .1em .35em; white-space: pre-wrap; overflow-wrap: anywhere; }
ul { margin: .25rem 0; padding-left: 1.25rem; }
li { margin: .25rem 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; margin: .75rem 0 0; }
th, td { padding: .45rem .75rem .45rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
td code { white-space: nowrap; }
td:last-child { padding-right: 0; }
.note, small { color: var(--soft); font-size: .9rem; }
@media (max-width: 34rem) { main { padding: 1rem .75rem 3rem; } header, section { padding: 1.1rem; }
  h1 { font-size: 1.6rem; } .many { min-width: 34rem; } dl div { grid-template-columns: 1fr; gap: 0; } }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #ccc; --page: #fff; --card: #fff;
  --accent: #1f6f5c; --warn: #9a5b00; --code: #fff; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; }
  header, section { padding: .5rem 0; border-radius: 0; }
  section { break-inside: avoid; margin-top: .5rem; } pre, code { padding: 0; } .wide { overflow: visible; } }
"""
