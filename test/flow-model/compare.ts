/** Compares what the product did with what the reference expects: the first difference in words, or undefined. */
import type { HistoryData, Mail, PersonThere, Step, Firing } from './flow-data.ts';
import type { FlowTrace } from './flow-reference.ts';
import type { Played } from './played-history.ts';
import { expectedOf } from './reference.ts';
import type { Rules } from './rules.ts';
import { placeOf, type Draws } from './runs.ts';
import { LIST_ZONE } from './stage.ts';

export function differenceOf(history: HistoryData, played: Played, rules?: Rules): string | undefined {
  const draws = (flow: number) => drawsOf(played.flows[flow]);
  const expected = expectedOf(history, { listZone: LIST_ZONE, draws, ...(rules && { rules }) });
  const pairs: readonly Pair[] = [
    ['answers to execute', expected.refusals.map(String), played.refusals.map(String)],
    ['answers to publications', expected.publications, played.publications],
    ['how many have finished', expected.sent, played.sent],
    ...expected.flows.flatMap((flow, no) =>
      pairsOf(no === 0 ? '' : ` of started flow ${no - 1}`, flow, played.flows[no]),
    ),
    [
      'people',
      expected.people.all.map(({ status, tags, fields }) =>
        status === 'deleted' ? status : [status, ...tags, fields['LEVEL'] ?? ''],
      ),
      played.people.map(({ status, tags, level }) => (status === 'deleted' ? status : [status, ...tags, level])),
    ],
    ['people on the other list', expected.people.there.map(lineOfPerson), played.there.map(lineOfPerson)],
    ['days', byName(expected.days), byName(played.days)],
  ];
  const different = pairs.find(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other));
  if (!different) return undefined;
  const [name, one, other] = different;
  return `${name}\nexpected ${JSON.stringify(one, null, 1)}\nplayed ${JSON.stringify(other, null, 1)}`;
}

/** What is compared, expected and played. */
type Pair = readonly [string, unknown, unknown];

function pairsOf(of: string, expected: FlowTrace, played: FlowTrace | undefined): readonly Pair[] {
  const people = new Set([...expected.steps, ...(played?.steps ?? [])].map(({ person }) => person));
  return [
    ...[...people].map((no): Pair => [
      `steps of person ${no}${of}`,
      linesOf(expected.steps, no),
      linesOf(played?.steps ?? [], no),
    ]),
    [`waits${of}`, expected.waits, played?.waits],
    [`mails${of}`, linesOfMails(expected.mails), linesOfMails(played?.mails ?? [])],
    [`webhooks that were fired${of}`, linesOfFired(expected.fired), linesOfFired(played?.fired ?? [])],
    [`counts${of}`, byName(expected.counts), byName(played?.counts ?? new Map())],
  ];
}

function byName(counts: ReadonlyMap<string, unknown>): unknown {
  return [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Steps at one instant are sorted by their text: runs of one person with different keys do not wait for each other. */
function linesOf(steps: readonly Step[], of: number): string[] {
  return steps
    .filter(({ person }) => person === of)
    .map(({ at, run, node, what, port, reason }) =>
      [new Date(at).toISOString(), run, node, what, port, reason].join(' '),
    )
    .toSorted();
}

function lineOfPerson(person: PersonThere | undefined): string {
  return person ? [person.status, ...person.tags, person.level].join(' ') : 'nobody';
}

function linesOfFired(fired: readonly Firing[]): string[] {
  return fired.map(({ person, node }) => `${person} ${node}`).toSorted();
}

function linesOfMails(mails: readonly Mail[]): string[] {
  return mails
    .map(({ person, run, node, pass, template }) => `${person} ${run} ${node} ${pass}: ${template}`)
    .toSorted();
}

const NOTHING: FlowTrace = { steps: [], waits: [], mails: [], fired: [], counts: new Map() };

function drawsOf({ steps, waits }: FlowTrace = NOTHING): Draws {
  const left = steps.filter(({ port }) => port?.startsWith('variant:'));
  return {
    variant({ person, run, node }) {
      const no = left.findIndex((step) => step.person === person && step.run === run && step.node === node);
      const [step] = no === -1 ? [] : left.splice(no, 1);
      return step?.port ?? undefined;
    },
    wake(place, no) {
      const begin = `${placeOf(place)} until `;
      const until = Date.parse(waits[no]?.find((line) => line.startsWith(begin))?.slice(begin.length) ?? '');
      return Number.isNaN(until) ? undefined : until;
    },
  };
}
