/** The part of the manual about ready-made flows that is made from them: for each its picture, its needs and its mails. */
import { checkFlow } from '../../src/domain/automations/flow/check-flow.ts';
import type { ReadyMadeFlow } from '../../src/domain/automations/ready-made/ready-made-flow.ts';
import { READY_MADE_FLOWS } from '../../src/domain/automations/ready-made/ready-made-flows.ts';
import { flowPicture } from './flow-picture.ts';

const FOLDER = 'pictures';

/** Names of files below docs/manual, and what stands in them. */
export function readyMadePictures(): ReadonlyMap<string, string> {
  return new Map(READY_MADE_FLOWS.map((one) => [`${FOLDER}/${one.name}.svg`, pictureOf(one)]));
}

export function readyMadeCatalogue(): string {
  return READY_MADE_FLOWS.map(chapterOf).join('\n\n');
}

function pictureOf({ name, title, document }: ReadyMadeFlow): string {
  const { flow, faults } = checkFlow(document.flow);
  if (!flow || faults.length > 0) throw new Error(`The ready-made flow ${name} has faults: ${JSON.stringify(faults)}`);
  return flowPicture(`The flow “${title}”`, flow, new Map(mailsOf({ document })));
}

function chapterOf(one: ReadyMadeFlow): string {
  const { name, title, description, needs } = one;
  const rows = needs.map(
    (need) =>
      `| ${need.kind === 'field' ? `field \`${need.name}\` (${need.type})` : `event \`${need.name}\``} | ${need.description} |`,
  );
  const mails = mailsOf(one).map(([, called]) => `“${called}”`);
  return [
    `## ${title}`,
    `\`${name}\`: ${description}`,
    ...(rows.length > 0 ? [['| It needs | |', '|---|---|', ...rows].join('\n')] : ['It needs nothing.']),
    `Its mails: ${mails.join(', ')}.`,
    `![The steps of “${title}”](${FOLDER}/${name}.svg)`,
  ].join('\n\n');
}

/** Uid and title of each mail, without the title of the flow. */
function mailsOf({ document }: Pick<ReadyMadeFlow, 'document'>): readonly [string, string][] {
  return Object.entries(document.references.templates ?? {}).map(([uid, { name }]) => [
    uid,
    name.slice(document.name.length + ': '.length),
  ]);
}
