/** What a ready-made flow has, and how one is written: a graph, the texts of its mails, and what it needs of the list and of your programs. */
import type { z } from 'zod';
import { sha256 } from '../../../lib/crypto.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import type { FieldType } from '../../audience/field-value.ts';
import { button, heading, MARKETING_FOOT, note, page, paragraph } from '../../content/templates/built-in/frame.ts';
import { FLOW_FORMAT, type FlowDocument, type FlowReference } from '../documents/flow-document.ts';
import type { flow } from '../flow/flow.ts';

/** How the mails begin. */
export const HELLO = 'Hello {{ subscriber.first_name | default: "there" }},';

export const NEED_KINDS = ['field', 'event'] as const;

/** Something that must be there before the flow does its work. */
export interface Need {
  readonly kind: (typeof NEED_KINDS)[number];
  /** The tag of a field of the list, or the name of an event from outside. */
  readonly name: string;
  /** Of a field. */
  readonly type: FieldType | null;
  readonly description: string;
}

export interface ReadyMadeFlow {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly needs: readonly Need[];
  /** With the texts of its mails. */
  readonly document: FlowDocument;
}

export interface Mail {
  readonly title: string;
  readonly subject: string;
  readonly preheader: string;
  readonly text: readonly string[];
  /** What stands on it, and where it leads. In one of `payload` it is left out where the event has no address. */
  readonly button?: readonly [string, string];
  readonly kind?: TemplateKind;
}

interface Draft {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** By tag. */
  readonly fields?: Readonly<
    Record<string, { readonly label: string; readonly type: FieldType; readonly description: string }>
  >;
  /** By name: what each says, and what its payload needs. */
  readonly events?: Readonly<Record<string, string>>;
  readonly mails: Readonly<Record<string, Mail>>;
  /** `mail`: the uid by which the graph names one of the mails. */
  flow(mail: (key: string) => string): z.input<typeof flow>;
}

export function readyMade({
  name,
  title,
  description,
  fields = {},
  events = {},
  mails,
  ...draft
}: Draft): ReadyMadeFlow {
  const uidOf = (key: string) => sha256(`${name}/${key}`).toString('hex').slice(0, UID_LENGTH);
  const templates = Object.entries(mails).map(([key, mail]) => [uidOf(key), templateOf(title, mail)]);
  const ofFields = Object.entries(fields).map(([tag, { label, type }]) => [tag, { name: label, type }]);
  const ofEvents = Object.keys(events).map((event) => [event, { name: event }]);
  return {
    ...{ name, title, description },
    needs: [
      ...Object.entries(fields).map(([tag, { type, description: what }]): Need => {
        return { kind: 'field', name: tag, type, description: what };
      }),
      ...Object.entries(events).map(([event, what]): Need => {
        return { kind: 'event', name: event, type: null, description: what };
      }),
    ],
    document: {
      ...{ format: FLOW_FORMAT, name: title, flow: draft.flow(uidOf) },
      references: {
        templates: Object.fromEntries(templates),
        ...(ofFields.length > 0 ? { fields: Object.fromEntries(ofFields) } : {}),
        ...(ofEvents.length > 0 ? { events: Object.fromEntries(ofEvents) } : {}),
      },
    },
  };
}

const UID_LENGTH = 13;

function templateOf(
  flowTitle: string,
  { title, subject, preheader, text, button: way, kind = 'marketing' }: Mail,
): FlowReference {
  const body = [heading(title), ...text.map(paragraph), ...(way ? [buttonOf(way)] : [])];
  const foot = kind === 'transactional' ? [note('{CAMPAIGN_FROM_NAME}')] : MARKETING_FOOT;
  return {
    ...{ name: `${flowTitle}: ${title}`, kind },
    texts: { subject, preheader, html: page({ title, look: 'card', body, foot }), plain: '' },
  };
}

function buttonOf([text, address]: readonly [string, string]): string {
  if (!address.startsWith('payload.')) return button(text, address);
  return `{% if ${address} %}${button(text, `{{ ${address} }}`)}{% endif %}`;
}

/** `edges('start > a > b', 'a.no > c')`: an edge for each arrow, from the port `next` unless another one is named. */
export function edges(...ways: readonly string[]) {
  return ways.flatMap((way) => {
    const stops = way.split(' > ');
    return stops.slice(1).map((to, no) => {
      const [from = '', port = 'next'] = (stops[no] ?? '').split('.');
      return { from, port, to: to.split('.')[0] ?? '' };
    });
  });
}

/** A condition that is true for who clicked a link in one of these mails of the run. */
export function clickedAny(...mails: readonly string[]) {
  return { any: mails.map((mail) => ({ clicked: { mail } })) };
}
