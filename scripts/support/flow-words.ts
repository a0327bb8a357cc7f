/** What stands in the boxes of a drawn flow: each part in a few words. */
import type { FlowNode } from '../../src/domain/automations/flow/flow-nodes.ts';
import type { Flow } from '../../src/domain/automations/flow/flow.ts';

type Trigger = Flow['triggers'][number];
type Duration = Readonly<Partial<Record<'minutes' | 'hours' | 'days' | 'weeks', number | undefined>>>;

export interface Words {
  readonly title: string;
  readonly detail: string;
}

/** Names of templates by their uids. */
export type MailNames = ReadonlyMap<string, string>;

const WEEKDAYS = ['', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

export function wordsOfTrigger(trigger: Trigger): Words {
  const suffix = 'if' in trigger && trigger.if ? ', for whom the rule is true' : '';
  return { title: 'When', detail: `${whatBegins(trigger)}${suffix}` };
}

function whatBegins(trigger: Trigger): string {
  switch (trigger.type) {
    case 'date_field':
      return `${shifted(trigger)}the date in ${trigger.field}${trigger.yearly ? ', each year' : ''}, ${trigger.at}`;
    case 'weekly':
      return `each ${daysOf(trigger.weekdays)}, ${trigger.at}`;
    case 'monthly':
      return `day ${trigger.day} of each month, ${trigger.at}`;
    case 'specific_date':
      return `${trigger.date}, ${trigger.at}`;
    case 'segment_entered':
      return 'somebody enters the segment';
    case 'segment_left':
      return 'somebody leaves the segment';
    case 'campaign_opened':
      return 'somebody opens a campaign';
    case 'campaign_clicked':
      return 'somebody clicks in a campaign';
    case 'execute':
      return 'you let somebody in';
    default:
      return whatHappens(trigger);
  }
}

/** An event, as goals, exits and waits name it. */
export function whatHappens(event: NonNullable<Flow['goals'][number]['event']>): string {
  switch (event.type) {
    case 'subscribed':
      return 'somebody joins the list';
    case 'confirmed':
      return 'somebody confirms';
    case 'unsubscribed':
      return 'somebody unsubscribes';
    case 'tag_added':
      return `the tag “${event.tag}” is added`;
    case 'tag_removed':
      return `the tag “${event.tag}” is removed`;
    case 'field_changed':
      return `${event.field} changes`;
    case 'event':
    case 'plugin_event':
      return `${event.name}${'sameKey' in event && event.sameKey ? ' with the same key' : ''}`;
    default:
      return event.type === 'opened' ? 'a mail is opened' : 'a link is clicked';
  }
}

export function wordsOfNode(node: FlowNode, mails: MailNames): Words {
  const { title, detail } = wordsByType(node, mails);
  return { title, detail: node.name ?? detail };
}

function wordsByType(node: FlowNode, mails: MailNames): Words {
  switch (node.type) {
    case 'send_mail':
      return { title: 'Mail', detail: mails.get(node.templateUid) ?? 'a template' };
    case 'wait':
      return { title: 'Wait', detail: `${durationOf(node.for)}${node.at ? `, until ${node.at}` : ''}` };
    case 'wait_until':
      return { title: 'Wait until', detail: until(node) };
    case 'wait_for_event':
      return { title: 'Wait for', detail: `${whatHappens(node.event)}, at most ${durationOf(node.for)}` };
    case 'condition':
      return { title: 'Condition', detail: 'is it true?' };
    case 'split':
      return { title: 'Split', detail: node.variants.map(({ name, percent }) => `${name} ${percent} %`).join(', ') };
    case 'add_tag':
      return { title: 'Add tag', detail: node.tag };
    case 'remove_tag':
      return { title: 'Remove tag', detail: node.tag };
    case 'set_field':
      return { title: 'Set field', detail: `${node.field}: ${node.value === '' ? 'empty' : node.value}` };
    case 'copy_to_list':
      return { title: 'Copy', detail: 'to another list' };
    case 'move_to_list':
      return { title: 'Move', detail: 'to another list' };
    case 'unsubscribe':
      return { title: 'Unsubscribe', detail: 'from the list' };
    case 'notify':
      return { title: 'Notice to you', detail: node.subject };
    case 'start_flow':
      return { title: 'Start', detail: 'another automation' };
    case 'api_call':
      return { title: 'Wait for your call', detail: node.for ? `at most ${durationOf(node.for)}` : 'without end' };
    case 'webhook':
      return { title: 'Webhook', detail: 'automation_webhook' };
    default:
      return { title: 'End', detail: '' };
  }
}

function until(node: Extract<FlowNode, { type: 'wait_until' }>): string {
  if (node.weekdays) return `${daysOf(node.weekdays)}, ${node.at}`;
  if (node.date !== undefined) return `${node.date}, ${node.at}`;
  return `${shifted(node)}the date in ${node.field ?? ''}, ${node.at}`;
}

function shifted({ before, after }: { before?: Duration | undefined; after?: Duration | undefined }): string {
  if (before) return `${durationOf(before)} before `;
  return after ? `${durationOf(after)} after ` : '';
}

function daysOf(weekdays: readonly number[]): string {
  return weekdays.map((day) => WEEKDAYS[day] ?? '').join(', ');
}

export function durationOf(given: Duration): string {
  const [unit, count] = Object.entries(given).find(([, value]) => value !== undefined) ?? ['', 0];
  return count === 1 ? `1 ${unit.slice(0, -1)}` : `${count} ${unit}`;
}
