/** Faults of flows: each is found, at its node and field, and nothing else is said. */
import { describe, expect, test } from 'vitest';
import { checkFlow } from '../../../src/domain/automations/flow/check-flow.ts';

const UID = '0123456789abc';
const mail = { id: 'hello', type: 'send_mail', templateUid: UID };

interface Parts {
  nodes?: unknown[];
  edges?: unknown[];
  [name: string]: unknown;
}

/** A flow that is right unless these parts are wrong. */
function flowWith(parts: Parts = {}) {
  const { nodes = [mail], edges = [{ from: 'start', to: 'hello' }], ...rest } = parts;
  return { triggers: [{ type: 'subscribed' }], nodes, edges, ...rest };
}

/** `node field code`. */
function faultsOf(parts: Parts): string[] {
  return checkFlow(flowWith(parts)).faults.map(({ node, field, code }) => `${node} ${field} ${code}`);
}

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no], to }));

describe('a flow', () => {
  test('that is right has no faults and gets its defaults', () => {
    const { flow, faults, warnings } = checkFlow(flowWith());
    expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
    expect(flow).toMatchObject({
      entry: { mode: 'once' },
      passesMax: 10,
      edges: [{ from: 'start', port: 'next', to: 'hello' }],
    });
  });

  test.each<[string, Parts, string[]]>([
    ['no trigger', { triggers: [] }, ['null triggers no_trigger']],
    ['no node', { nodes: [], edges: [] }, ['null nodes no_node']],
    ['no start', { edges: [] }, ['null edges no_start']],
    ['an id twice', { nodes: [mail, mail] }, ['hello id id_taken']],
    ['an id of a node and of a goal', { goals: [{ id: 'hello', event: { type: 'opened' } }] }, ['hello id id_taken']],
    ['the id “start”', { nodes: [{ ...mail, id: 'start' }] }, ['start id invalid']],
    [
      'an edge from nowhere',
      { edges: [...line('start', 'hello'), { from: 'x', to: 'hello' }] },
      ['x null unknown_node'],
    ],
    ['an edge to nowhere', { edges: [...line('start', 'hello', 'x')] }, ['hello null unknown_node']],
    [
      'an unknown port',
      { edges: [...line('start', 'hello'), { from: 'hello', port: 'yes', to: 'hello' }] },
      ['hello yes unknown_port'],
    ],
    ['a port twice', { edges: [...line('start', 'hello'), ...line('start', 'hello')] }, ['start next port_taken']],
    ['an unknown type of node', { nodes: [{ id: 'hello', type: 'dance' }] }, ['hello type invalid']],
    ['an unknown setting', { nodes: [{ ...mail, loud: true }] }, ['hello loud invalid']],
    ['a mail without a template', { nodes: [{ id: 'hello', type: 'send_mail' }] }, ['hello templateUid invalid']],
    ['a wait of nothing', { nodes: [{ id: 'hello', type: 'wait', for: { days: 0 } }] }, ['hello for.days invalid']],
    ['two durations', { nodes: [{ id: 'hello', type: 'wait', for: { days: 1, hours: 1 } }] }, ['hello for invalid']],
    [
      'a local hour after minutes',
      { nodes: [{ id: 'hello', type: 'wait', for: { minutes: 5 }, at: '09:00' }] },
      ['hello at invalid'],
    ],
    ['25 o’clock', { nodes: [{ id: 'hello', type: 'wait', for: { days: 5 }, at: '25:00' }] }, ['hello at invalid']],
    [
      'a date and a field',
      { nodes: [{ id: 'hello', type: 'wait_until', date: '2027-01-01', field: 'X', at: '09:00' }] },
      ['hello null invalid'],
    ],
    [
      '30 February',
      { nodes: [{ id: 'hello', type: 'wait_until', date: '2027-02-30', at: '09:00' }] },
      ['hello date invalid'],
    ],
    [
      'a yearly weekday',
      { nodes: [{ id: 'hello', type: 'wait_until', weekdays: [1], at: '09:00', yearly: true }] },
      ['hello yearly invalid'],
    ],
    [
      '101 percent',
      {
        nodes: [
          {
            id: 'hello',
            type: 'split',
            variants: [
              { name: 'a', percent: 50 },
              { name: 'b', percent: 51 },
            ],
          },
        ],
      },
      ['hello variants invalid'],
    ],
    [
      'a rule that is wrong inside',
      { nodes: [{ id: 'hello', type: 'condition', if: { person: { all: [{ email: { is: 'no' } }] } } }] },
      ['hello if.person.all.0.email.is invalid'],
    ],
    [
      'a condition about two things',
      { nodes: [{ id: 'hello', type: 'condition', if: { opened: { mail: 'a' }, clicked: { mail: 'a' } } }] },
      ['hello if invalid'],
    ],
    ['a goal without a condition', { goals: [{ id: 'bought' }] }, ['bought null invalid']],
    [
      'opened what is no mail',
      { nodes: [{ id: 'hello', type: 'condition', if: { opened: { mail: 'hello' } } }] },
      ['hello mail not_a_mail'],
    ],
    [
      'opened a mail that comes later',
      {
        nodes: [{ id: 'ask', type: 'condition', if: { opened: { mail: 'hello' } } }, mail],
        edges: [...line('start', 'ask'), { from: 'ask', port: 'no', to: 'hello' }],
      },
      ['ask mail mail_not_before'],
    ],
    [
      'a goal about no mail',
      { goals: [{ id: 'g', event: { type: 'clicked', mail: 'x' } }] },
      ['g event.mail not_a_mail'],
    ],
    [
      'a goodbye to who is there',
      { nodes: [{ ...mail, isGoodbye: true }] },
      ['hello isGoodbye goodbye_without_leaving'],
    ],
    ['entries by a key of nothing', { entry: { mode: 'per_key', key: 'cart_id' } }, ['null entry key_without_payload']],
    [
      'the same key without a key',
      { exits: [{ id: 'x', event: { type: 'event', name: 'paid', sameKey: true } }] },
      ['x event.sameKey key_without_entry'],
    ],
    ['a way round without a wait', { edges: [...line('start', 'hello', 'hello')] }, ['hello null loop_without_wait']],
    [
      'a way round with 59 minutes',
      {
        nodes: [mail, { id: 'rest', type: 'wait', for: { minutes: 59 } }],
        edges: line('start', 'hello', 'rest', 'hello'),
      },
      ['hello null loop_without_wait'],
    ],
    [
      'a way round whose wait an event ends',
      {
        nodes: [mail, { id: 'rest', type: 'wait_for_event', event: { type: 'opened' }, for: { days: 3 } }],
        edges: line('start', 'hello', 'rest', 'hello'),
      },
      ['hello null loop_without_wait'],
    ],
  ])('says %s', (_name, parts, faults) => {
    expect(faultsOf(parts)).toEqual(faults);
  });

  test.each<[string, Parts]>([
    [
      'a way round with an hour',
      {
        nodes: [mail, { id: 'rest', type: 'wait', for: { minutes: 60 } }],
        edges: line('start', 'hello', 'rest', 'hello'),
      },
    ],
    [
      'a way round to the next Monday',
      {
        nodes: [mail, { id: 'rest', type: 'wait_until', weekdays: [1], at: '09:00' }],
        edges: line('start', 'hello', 'rest', 'hello'),
      },
    ],
    ['a goodbye to who has left', { triggers: [{ type: 'unsubscribed' }], nodes: [{ ...mail, isGoodbye: true }] }],
    [
      'a goodbye after leaving',
      {
        nodes: [
          { id: 'leave', type: 'unsubscribe' },
          { ...mail, isGoodbye: true },
        ],
        edges: line('start', 'leave', 'hello'),
      },
    ],
    [
      'a cart by its key',
      {
        triggers: [{ type: 'event', name: 'cart_updated' }],
        entry: { mode: 'per_key', key: 'cart_id' },
        exits: [{ id: 'ordered', event: { type: 'event', name: 'order_placed', sameKey: true } }],
      },
    ],
  ])('takes %s', (_name, parts) => {
    expect(faultsOf(parts)).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ['an unknown type', { id: 'hello', type: 'dance' }, 'The type must be one of: send_mail, wait, wait_until, '],
    ['no type', { id: 'hello' }, 'The type must be one of: send_mail, '],
    [
      'a node as a whole',
      { id: 'hello', type: 'wait_until', at: '09:00' },
      'The node must have exactly one of: date, ',
    ],
    [
      'a condition of a rule',
      { id: 'hello', type: 'condition', if: { person: { tags: ['vip'] } } },
      'The tags must be an object.',
    ],
  ])('says of %s what is right', (_what, node, sentence) => {
    const [fault] = checkFlow(flowWith({ nodes: [node] })).faults;
    expect(fault?.message).toContain(sentence);
  });

  test('warns of what is strange, and can be published', () => {
    const { faults, warnings } = checkFlow(
      flowWith({
        triggers: [{ type: 'subscribed' }, { type: 'subscribed' }],
        nodes: [mail, { id: 'alone', type: 'end' }, { id: 'rest', type: 'wait', for: { days: 1 } }],
        edges: line('start', 'hello', 'rest'),
      }),
    );
    expect(faults).toEqual([]);
    expect(warnings.map(({ node, field, code }) => `${node} ${field} ${code}`)).toEqual([
      'alone null unreachable',
      'rest null nothing_follows',
      'null triggers.1 trigger_twice',
    ]);
  });

  test.each([null, 7, 'flow', [], { nodes: 3 }, { nodes: [null, 7], triggers: 'all', edges: [[]] }])(
    'is refused with a sentence when it is %j',
    (given) => {
      const { flow, faults } = checkFlow(given);
      expect(flow).toBeUndefined();
      expect(faults.length).toBeGreaterThan(0);
      for (const { message } of faults) expect(message).toMatch(/^The .*\.$/);
    },
  );

  test('has limits', () => {
    const many = Array.from({ length: 201 }, (_one, no) => ({ ...mail, id: `n${no}` }));
    expect(faultsOf({ nodes: many })).toEqual(['null nodes invalid']);
  });
});
