/** Draws a flow as SVG, for the manual. The same flow gives the same picture, so it can be compared. */
import { START } from '../../src/domain/automations/flow/flow-parts.ts';
import type { Flow } from '../../src/domain/automations/flow/flow.ts';
import type { FlowNode } from '../../src/domain/automations/flow/flow-nodes.ts';
import { layoutOf, type Placed, type Way } from './flow-layout.ts';
import { whatHappens, wordsOfNode, wordsOfTrigger, type MailNames, type Words } from './flow-words.ts';

const BOX = { width: 210, height: 50 };
const STEP = { x: 236, y: 92 };
const MARGIN = 20;
const LINE_MAX = 31;
/** Of a letter of the notes, on average. */
const LETTER = 7;
const FONT = 'font-family="system-ui, sans-serif"';

const COLORS: Readonly<Record<string, { readonly fill: string; readonly edge: string }>> = {
  trigger: { fill: '#e7f0ff', edge: '#1d4ed8' },
  mail: { fill: '#e8f6ec', edge: '#1a7f37' },
  wait: { fill: '#fff6e0', edge: '#9a6700' },
  choice: { fill: '#f3ebff', edge: '#6639ba' },
  act: { fill: '#f2f4f7', edge: '#52606d' },
};

interface Box {
  readonly id: string;
  readonly words: Words;
  readonly kind: string;
}

/** `title` is read by screen readers. */
export function flowPicture(title: string, flow: Flow, mails: MailNames): string {
  const start = { id: START, words: wordsOfStart(flow), kind: 'trigger' };
  const boxes = [
    start,
    ...flow.nodes.map((node) => ({ id: node.id, words: wordsOfNode(node, mails), kind: kindOf(node) })),
  ];
  const ways: readonly Way[] = flow.edges;
  const layout = layoutOf(
    boxes.map(({ id }) => id),
    ways,
  );
  const notes = notesOf(flow);
  const widest = Math.max(0, ...notes.map((note) => note.length)) * LETTER;
  const width = MARGIN * 2 + Math.ceil(Math.max((layout.columns - 1) * STEP.x + BOX.width, widest));
  const height = MARGIN * 2 + (layout.rows - 1) * STEP.y + BOX.height + notes.length * 20 + (notes.length > 0 ? 12 : 0);
  const lines = ways.map((way) => {
    const [from, to] = [layout.places.get(way.from), layout.places.get(way.to)];
    return from && to ? drawnWay(way, [from, ...(layout.bends.get(way) ?? []), to], width) : '';
  });
  const parts = boxes.flatMap((box) => {
    const place = layout.places.get(box.id);
    return place ? [drawnBox(box, place)] : [];
  });
  const top = MARGIN + (layout.rows - 1) * STEP.y + BOX.height + 28;
  const written = notes.map((note, no) => text({ x: MARGIN, y: top + no * 20, size: 13 }, note));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#52606d"/></marker></defs>',
    `<rect width="${width}" height="${height}" rx="8" fill="#ffffff"/>`,
    ...[...lines, ...parts, ...written].filter((one) => one !== ''),
    '</svg>',
    '',
  ].join('\n');
}

function wordsOfStart({ triggers }: Flow): Words {
  const all = triggers.map((one) => wordsOfTrigger(one).detail);
  return { title: 'When', detail: all.length === 1 ? (all[0] ?? '') : all.join(', or ') };
}

/** What ends the flow for people, wherever they are. */
function notesOf({ goals, exits, entry }: Flow): readonly string[] {
  const ofWays = [
    ...goals.map((way) => ({ way, word: 'Goal' })),
    ...exits.map((way) => ({ way, word: 'Leaves at once' })),
  ];
  const entries = {
    once: 'Each person enters once.',
    after_end: 'Again after the end.',
    per_key: `Each value of ${entry.mode === 'per_key' ? entry.key : ''} enters by itself.`,
    after_days: `Again after ${entry.mode === 'after_days' ? entry.days : 0} days at the earliest.`,
  };
  return [
    ...ofWays.map(
      ({ way, word }) => `${word}: ${way.event ? whatHappens(way.event) : (way.name ?? 'a rule is true')}.`,
    ),
    entries[entry.mode],
  ];
}

function kindOf({ type }: FlowNode): string {
  if (type === 'send_mail') return 'mail';
  if (type.startsWith('wait') || type === 'api_call') return 'wait';
  return type === 'condition' || type === 'split' ? 'choice' : 'act';
}

function at({ row, column }: Pick<Placed, 'row' | 'column'>) {
  return { x: round(MARGIN + BOX.width / 2 + column * STEP.x), y: MARGIN + row * STEP.y };
}

function drawnBox({ words, kind }: Box, place: Placed): string {
  const { x, y } = at(place);
  const { fill, edge } = COLORS[kind] ?? { fill: '#ffffff', edge: '#52606d' };
  const left = round(x - BOX.width / 2);
  const [first = '', second = ''] = wrapped(words.detail);
  const title = text(
    { x, y: y + (second === '' ? 21 : 16), size: 12, isBold: true, color: edge },
    words.title,
    'middle',
  );
  const details = [first, second]
    .filter((line) => line !== '')
    .map((line, no) => text({ x, y: y + (second === '' ? 38 : 30 + no * 14), size: 12 }, line, 'middle'));
  return [
    `<rect x="${left}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="${kind === 'trigger' ? 25 : 6}" fill="${fill}" stroke="${edge}" stroke-width="1.5"/>`,
    ...[title, ...details],
  ].join('\n');
}

/** From the bottom of a box to the top of another; back to an earlier one along the right side. */
function drawnWay({ port }: Way, places: readonly Placed[], width: number): string {
  const [from, ...rest] = places;
  const to = rest.at(-1);
  if (!from || !to) return '';
  const begin = { x: at(from).x, y: at(from).y + BOX.height };
  const isBack = to.row <= from.row;
  let path = `M${begin.x} ${begin.y}`;
  let last = begin;
  for (const place of rest) {
    const { x, y } = at(place);
    if (isBack) path += ` C${width} ${begin.y + 60} ${width} ${y - 60} ${x} ${y}`;
    else {
      const half = round((last.y + y) / 2);
      path += ` C${last.x} ${half} ${x} ${half} ${x} ${y}`;
      // Straight past the boxes of the row.
      if (place !== to) path += ` L${x} ${y + BOX.height}`;
    }
    last = { x, y: y + BOX.height };
  }
  const line = `<path d="${path}" fill="none" stroke="#52606d" stroke-width="1.5" marker-end="url(#arrow)"/>`;
  if (port === 'next') return line;
  const next = rest[0] ?? to;
  const x = round(begin.x + (at(next).x - begin.x) * 0.25);
  const side = at(next).x < begin.x ? -6 : 6;
  const label = text({ x: x + side, y: begin.y + 15, size: 11, color: '#52606d' }, port, side < 0 ? 'end' : 'start');
  return `${line}\n${label}`;
}

interface TextStyle {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly isBold?: boolean;
  readonly color?: string;
}

function text({ x, y, size, isBold = false, color = '#1f2933' }: TextStyle, content: string, anchor = 'start'): string {
  const weight = isBold ? ' font-weight="bold"' : '';
  return `<text x="${x}" y="${y}" ${FONT} font-size="${size}"${weight} fill="${color}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

/** Two lines at most; what is longer ends with dots. */
function wrapped(content: string): readonly string[] {
  const lines: string[] = [];
  for (const word of content.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < LINE_MAX) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  const [first = '', second = '', ...more] = lines;
  return [first, more.length > 0 ? `${second} …` : second];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
