// Pure functions on texts and diffs; nothing here knows VS Code.
import { createHash } from 'node:crypto';

/** The digest of a text's UTF-8 bytes. Synchronous on purpose: nothing may be awaited between comparing and applying. */
export function sha256(text: string): string {
  return 'sha256:' + createHash('sha256').update(text, 'utf8').digest('hex');
}

/** The two sides of a unified diff's hunks, as whole texts that a diff editor can show. */
export function sides(diff: string): { before: string; after: string } {
  const before: string[] = [];
  const after: string[] = [];
  for (const line of diff.split('\n')) {
    if (line.startsWith('---') || line.startsWith('+++') || line.startsWith('\\')) continue;
    if (line.startsWith('@@')) {
      before.push(line);
      after.push(line);
    } else if (line.startsWith('-')) {
      before.push(line.slice(1));
    } else if (line.startsWith('+')) {
      after.push(line.slice(1));
    } else if (line.startsWith(' ')) {
      before.push(line.slice(1));
      after.push(line.slice(1));
    } else if (line !== '') { // a note, such as how much was cut
      before.push(line);
      after.push(line);
    }
  }
  return { before: before.join('\n') + '\n', after: after.join('\n') + '\n' };
}

/** How many lines a unified diff adds and takes away. */
export function countLines(diff: string): { added: number; removed: number } {
  let added = 0, removed = 0;
  for (const l of diff.split('\n')) {
    if (l.startsWith('+') && !l.startsWith('+++ ')) added++;
    else if (l.startsWith('-') && !l.startsWith('--- ')) removed++;
  }
  return { added, removed };
}

/** A question in one line: the command, or the size of the change. */
export function questionSummary(p: { detail: string; command?: string; cwd?: string; diff?: string }): string {
  const parts: string[] = [];
  if (p.command) parts.push(clip(p.command), ...(p.cwd ? [`in ${p.cwd}`] : []));
  else if (p.diff) {
    const { added, removed } = countLines(p.diff);
    parts.push(`+${added} \u2212${removed} lines`);
  } else if (p.detail) parts.push(clip(p.detail));
  return parts.join(' ');
}

function clip(s: string): string {
  const line = s.trim().replace(/\s*\n\s*/g, ' ⏎ ');
  return line.length <= 160 ? line : `${line.slice(0, 160)}…`;
}

/** Why an undo was refused, in words. */
export function undoRefusal(status: string): string {
  const words: Record<string, string> = {
    stale_base: 'what it changed has been changed since', not_found: 'the file is not there any more', exists: 'a file is there already',
    busy: 'the file is being written', unreadable: 'what it was is not kept any more',
  };
  return words[status] ?? status;
}

/** The refusals of a tool's result: one for each file that was refused. */
export function refusals<R extends { status: string; files?: R[] }>(r: R): R[] {
  const list = r.files ?? [];
  if (list.length === 0) return [r];
  return list.filter((f) => !['ok', 'applied', 'cancelled'].includes(f.status));
}

/** The refusal in a tool's result as the transcript keeps it: the object in its second line. */
export function refusalIn<R extends { status: string; files?: R[] }>(text: string): R | undefined {
  const line = text.split('\n', 2)[1];
  if (!line?.startsWith('{')) return undefined;
  try {
    const r = JSON.parse(line) as R & { next?: string; path?: string };
    return typeof r.status === 'string' && (r.next !== undefined || (r.files?.length ?? 0) > 0) ? r : undefined;
  } catch {
    return undefined; // a result of another tool
  }
}

export interface StatusCounts { starting?: boolean; running: boolean; step: number; waiting: boolean; fresh: number; stale: number; problem?: string }

/** What the status bar says: words, never colour alone. */
export function statusText(s: StatusCounts): string {
  if (s.problem !== undefined) return `$(warning) stella: ${s.problem}`;
  if (s.starting === true) return '$(sync~spin) stella: starting';
  const parts: string[] = [];
  let icon = '$(eye)';
  if (s.waiting) {
    parts.push('waiting for you');
    icon = '$(question)';
  } else if (s.running) {
    parts.push(`working, step ${s.step}`);
    icon = '$(sync~spin)';
  } else {
    parts.push('idle');
  }
  if (s.fresh + s.stale > 0) parts.push(`${s.fresh + s.stale} guarded`);
  if (s.stale > 0) {
    parts.push(`${s.stale} stale`);
    icon = s.running ? icon : '$(warning)';
  }
  return `${icon} stella: ${parts.join(', ')}`;
}

/** How long to wait before the nth restart (from 1), in milliseconds; undefined when it is enough. */
export function backOff(n: number): number | undefined {
  return n > 5 ? undefined : Math.min(500 * 2 ** (n - 1), 8000);
}
