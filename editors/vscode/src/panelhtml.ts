// The page of the transcript panel. All text goes in by textContent; nothing
// that a model or a file says is ever parsed as HTML.

export function panelHtml(nonce: string): string {
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<style nonce="${nonce}">
body { font: var(--vscode-font-size) var(--vscode-font-family); color: var(--vscode-foreground); padding: 0 1em 4em; line-height: 1.5 }
.you { margin: 1em 0 .5em; padding: .5em .8em; border-left: 3px solid var(--vscode-focusBorder); background: var(--vscode-textBlockQuote-background); white-space: pre-wrap }
.text { white-space: pre-wrap; margin: .4em 0 }
.note { white-space: pre-wrap; margin: .4em 0; opacity: .8; font-style: italic }
details { margin: .3em 0 } summary { cursor: pointer }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3em 0; padding: .5em; background: var(--vscode-textCodeBlock-background); font: var(--vscode-editor-font-size) var(--vscode-editor-font-family) }
.refusal { margin: .6em 0; padding: .5em .8em; border: 2px solid var(--vscode-editorWarning-foreground) }
.refusal b::before { content: "\\26A0\\00a0" }
.question { margin: .6em 0; padding: .5em .8em; border: 2px solid var(--vscode-focusBorder) }
.question b::before { content: "? " }
.question button { margin: .3em .5em 0 0 }
.del { color: var(--vscode-gitDecoration-deletedResourceForeground) } .add { color: var(--vscode-gitDecoration-addedResourceForeground) }
button { color: var(--vscode-button-foreground); background: var(--vscode-button-background); border: 0; padding: .3em .8em; cursor: pointer }
#bar { position: fixed; bottom: 0; left: 0; right: 0; display: flex; gap: .5em; padding: .5em 1em; background: var(--vscode-editor-background); border-top: 1px solid var(--vscode-panel-border) }
#bar input { flex: 1; color: var(--vscode-input-foreground); background: var(--vscode-input-background); border: 1px solid var(--vscode-input-border, transparent); padding: .3em }
</style></head>
<body><main id="log" role="log" aria-live="polite"></main>
<form id="bar"><input id="ask" aria-label="Ask Stella" placeholder="Ask, or steer the running turn"><button>Ask</button><button type="button" id="stop">Stop</button></form>
<script nonce="${nonce}">
const api = acquireVsCodeApi(), log = document.getElementById('log');
let open = null;
const el = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const add = (e) => { const end = innerHeight + scrollY >= document.body.scrollHeight - 60; log.append(e); if (end) scrollTo(0, document.body.scrollHeight); return e; };
const fold = (title, body) => { const d = el('details'); d.append(el('summary', '', title), el('pre', '', body)); return d; };
const diff = (text) => {
  const pre = el('pre');
  for (const l of text.replace(/\\n$/, '').split('\\n')) pre.append(el('span', l[0] === '+' ? 'add' : l[0] === '-' ? 'del' : '', l + '\\n'));
  return pre;
};
const stops = { end_turn: 'done', ended: 'the turn ended', cancelled: 'stopped', max_steps: 'stopped at the step limit', budget: 'stopped at the budget', loop: 'stopped: the same call again and again', error: 'failed', steered: 'joined the running turn' };
const questions = new Map();
function question(q, n) {
  const box = el('section', 'question');
  box.append(el('b', '', q.title));
  if (q.command) box.append(el('pre', '', '$ ' + q.command));
  if (q.cwd) box.append(el('div', '', 'in ' + q.cwd));
  if (q.detail) box.append(el('div', 'text', q.detail));
  if (q.diff) box.append(diff(q.diff));
  const answers = el('div');
  for (const o of q.options.length ? q.options : [{ id: '', title: 'Answer…' }]) {
    const b = el('button', '', o.title);
    b.onclick = () => api.postMessage({ type: 'answer', question: n, choice: o.id });
    answers.append(b);
  }
  box.append(answers);
  questions.set(n, answers);
  return box;
}
function refusal(r, n) {
  const box = el('section', 'refusal');
  box.append(el('b', '', 'refused: ' + (r.path || '') + ' (' + r.status + ')'));
  for (const c of r.changed_by || []) box.append(el('div', '', 'changed by ' + c));
  if (r.diff_since_read) {
    const b = el('button', '', 'Open the difference');
    b.onclick = () => api.postMessage({ type: 'diff', refusal: n });
    box.append(diff(r.diff_since_read), b);
  }
  if (r.next) box.append(el('div', '', 'next: ' + r.next));
  return box;
}
const on = {
  session(m) { api.setState({ session: m.id }); },
  refusal(m) { open = null; add(refusal(m.refusal, m.n)); },
  question(m) { open = null; add(question(m.question, m.n)); },
  answered(m) { const a = questions.get(m.n); if (a) { a.replaceChildren(el('i', '', 'answered: ' + m.words)); questions.delete(m.n); } },
  clear() { log.replaceChildren(); open = null; },
  prompt(m) { open = null; add(el('div', 'you', (m.steer ? 'You (steering): ' : 'You: ') + m.text)); },
  ended(m) { open = null; add(el('div', 'note', '— ' + (stops[m.stop] || m.stop) + (m.error ? ': ' + m.error : '') + (m.usage && m.usage.output ? ', ' + m.usage.output + ' tokens out' : '') + ' —')); },
  update(m) {
    const u = m.update;
    if (u.kind === 'text') { open = open || add(el('div', 'text', '')); open.textContent += u.text; scrollTo(0, document.body.scrollHeight); return; }
    open = null;
    if (u.kind === 'toolCall') add(fold('tool: ' + u.tool + ' ' + ((u.input && (u.input.path || u.input.command || u.input.pattern)) || ''), JSON.stringify(u.input, null, 2)));
    else if (u.kind === 'toolResult') add(fold((u.ok ? 'done: ' : 'error: ') + (u.text || '').split('\\n')[0], u.text || ''));
    else if (u.kind === 'recall') add(fold('recalled: ' + (u.frames || []).length, (u.frames || []).map((f) => f.kind + ' ' + f.label + ' (' + f.id + ')').join('\\n')));
    else if (u.kind === 'notice') add(el('div', 'note', u.text));
  },
};
addEventListener('message', (e) => on[e.data.type]?.(e.data));
document.getElementById('stop').onclick = () => api.postMessage({ type: 'stop' });
document.getElementById('bar').onsubmit = (e) => { e.preventDefault(); const i = document.getElementById('ask'); if (i.value.trim()) api.postMessage({ type: 'ask', text: i.value.trim() }); i.value = ''; };
api.postMessage({ type: 'ready' });
</script></body></html>`;
}
