/** The demo's list with its fields. First makes sure that no mail can leave the machine. */
import { z } from 'zod';
import type { Client } from './client.ts';
import { DemoError } from './demo-error.ts';

export const LIST_NAME = 'Friends of the lighthouse';
const SENDER = 'keeper@lighthouse.example';

const SERVERS = `query DemoServers {
  sendingServers(first: 100) { ... on SendingServerConnection { nodes { name status isDevelopment } } }
  countries { ... on CountriesSuccess { nodes { id code } } }
}`;
const servers = z.object({
  sendingServers: z.object({
    nodes: z.array(z.object({ name: z.string(), status: z.string(), isDevelopment: z.boolean() })),
  }),
  countries: z.object({ nodes: z.array(z.object({ id: z.number(), code: z.string() })) }),
});

const CREATE_LIST = `mutation DemoList($input: CreateListInput!) {
  createList(input: $input) {
    __typename
    ... on MailList { uid }
    ... on Error { message }
    ... on ValidationError { fields { field messages } }
  }
}`;
const created = z.object({ createList: z.object({ uid: z.string() }) });

const ADD_FIELD = `mutation DemoField($input: AddListFieldInput!) {
  addListField(input: $input) {
    __typename
    ... on ListField { tag }
    ... on Error { message }
    ... on ValidationError { fields { field messages } }
  }
}`;
const added = z.object({ addListField: z.object({ tag: z.string() }) });

/** Beside FIRST_NAME and LAST_NAME, which every list has. */
const FIELDS = [
  { type: 'text', label: 'City', tag: 'CITY', defaultValue: 'your town' },
  { type: 'number', label: 'Orders', tag: 'ORDERS' },
  { type: 'datetime', label: 'Customer since', tag: 'CUSTOMER_SINCE' },
] as const;

/** Returns the list's uid. Throws DemoError when mails would leave the machine. */
export async function makeList(client: Client): Promise<string> {
  const { sendingServers, countries } = await client.run(SERVERS, {}, servers);
  const active = sendingServers.nodes.filter(({ status }) => status === 'active');
  const real = active.find(({ isDevelopment }) => !isDevelopment);
  if (real)
    throw new DemoError(
      `This installation has a real sending server (“${real.name}”): the demo would write to people who do not exist.\n` +
        'Let it start a Mailwright of its own: npm run demo -- --own',
    );
  if (active.length === 0)
    throw new DemoError('The built-in inbox does not run here (INBOX=off?). Try: npm run demo -- --own');
  const input = {
    name: LIST_NAME,
    fromName: 'The lighthouse keeper',
    fromEmail: SENDER,
    defaultSubject: 'News from the lighthouse',
    remindMessage: 'You get this mail because a demonstration made you up.',
    contact: contact(countries.nodes.find(({ code }) => code === 'IE')?.id ?? 1),
  };
  const { createList } = await client.run(CREATE_LIST, { input }, created);
  for (const field of FIELDS) await client.run(ADD_FIELD, { input: { listUid: createList.uid, ...field } }, added);
  return createList.uid;
}

function contact(countryId: number) {
  return {
    company: 'Lighthouse Society',
    address1: '1 Rocky Point',
    city: 'Baltimore',
    state: 'Cork',
    zip: 'P81 X000',
    phone: '+353 28 00000',
    countryId,
    email: SENDER,
  };
}
