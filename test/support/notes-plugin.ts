/** The plugin `acme/notes` of the tests of GraphQL parts: notes in memory, with every kind of field, and fields that fail. */

export const NOTES_SDL = `
  "A note."
  type AcmeNote { uid: ID!  text: String!  at: DateTime  words: [String!]!  author: AcmeAuthor  wrong: Int  replies: [AcmeNote!] }
  type AcmeAuthor { name: String! }
  input AcmeNoteInput { text: String!  colour: AcmeColour = RED }
  enum AcmeColour { RED BLUE }
  extend type Query {
    "All notes."
    acmeNotes: [AcmeNote!]!
    acmeSome(first: Int!): [AcmeNote!]!
    acmeNote(uid: ID!): AcmeNote!
    acmeCount: Int
    acmeWho: String!
    acmeForAdmins: String!
    acmeForAll: String!
    acmeFault(kind: String!): String!
  }
  extend type Mutation { acmeAddNote(input: AcmeNoteInput!): AcmeNote! }
  extend type Subscription { acmeTicks(count: Int!): Int!  acmeSilence: String! }
  extend type MailList { acmeNotes: [String!]  acmeBroken: String }
`;

/** The text of its index.ts; `rows` is the text of a list of REST rows; `sdl` and `more` are for tests of faults. */
export function notesCode({ name = 'acme/notes', sdl = NOTES_SDL, more = '', rows = '[]' } = {}): string {
  return `
    import { NotFoundError, ValidationError, definePlugin } from 'mailwright/plugin-api';
    const notes = [{ uid: 'n1', text: 'first', at: new Date(0), words: ['first'], author: Promise.resolve({ name: 'Ada' }), wrong: 'no number' }];
    const faults = {
      throw: () => { throw new Error('a secret reason'); },
      reject: async () => { throw new Error('another reason'); },
      wrong: () => ({ no: 'text' }),
      nothing: () => null,
      never: () => new Promise(() => undefined),
      refuse: () => { throw new ValidationError({ text: ['The text is too long.'] }); },
    };
    const part = {
      schema: ${JSON.stringify(sdl)},
      access: {
        acmeNotes: { scope: 'lists:read' }, acmeSome: 'authenticated', acmeNote: 'authenticated', acmeCount: 'authenticated',
        acmeWho: 'authenticated', acmeForAdmins: 'admin', acmeForAll: 'public', acmeFault: 'authenticated',
        acmeAddNote: { scope: 'lists:write' }, acmeTicks: 'authenticated', acmeSilence: 'authenticated',
      },
      resolvers: {
        Query: {
          acmeNotes: () => notes,
          acmeSome: (_parent, { first }) => Array.from({ length: first + (first === 7 ? 1 : 0) }, () => notes[0]),
          acmeNote: async (_parent, { uid }) => {
            const found = notes.find((note) => note.uid === uid);
            if (!found) throw new NotFoundError('ACME_NOTE_NOT_FOUND', 'There is no such note.');
            return found;
          },
          acmeCount: () => notes.length,
          acmeWho: (_parent, _args, ctx) => JSON.stringify(ctx),
          acmeForAdmins: () => 'for admins',
          acmeForAll: (_parent, _args, { viewer }) => (viewer ? 'known' : 'stranger'),
          acmeFault: (_parent, { kind }) => faults[kind](),
        },
        Mutation: {
          acmeAddNote: (_parent, { input }) => {
            const note = { uid: 'n' + (notes.length + 1), text: input.text, words: [], customerId: 5n };
            notes.push(note);
            return note;
          },
        },
        Subscription: {
          acmeTicks: { async *subscribe({ count }) { for (let n = 1; n <= count; n++) yield n; } },
          acmeSilence: {
            async *subscribe() {
              try { yield 'begun'; await new Promise(() => undefined); } finally { globalThis.acmeEnded = true; }
            },
          },
        },
        MailList: {
          acmeNotes: (list) => ['of ' + list.uid, ...Object.keys(list)],
          acmeBroken: () => { throw new Error('broken'); },
        },
      },
    };
    ${more}
    export const plugin = definePlugin({
      name: '${name}',
      boot(hooks) {
        hooks.add('graphql_part', part);
        for (const row of ${rows}) hooks.add('rest_row', row);
        hooks.add('route', { method: 'GET', path: '/open', auth: 'public', handle: () => ({ text: 'open' }) });
      },
    });`;
}
