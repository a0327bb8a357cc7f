/** Documents that a server must refuse at once (hard case D1). */

const nested = (levels: number) =>
  `{ __schema { types ${'{ fields { type '.repeat(levels)} { name } ${'} }'.repeat(levels)} } }`;
const deep = (levels: number) => `{ ${'me { ... on User { customer '.repeat(levels)} } { uid } ${'}'.repeat(levels)} }`;
const fragmentBomb = (count: number) => {
  const fragments = Array.from({ length: count }, (_, n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`);
  return `{ ...f0 } ${fragments.join(' ')} fragment f${count} on Query { me { uid } }`;
};
const aliases = (count: number) => `{ ${Array.from({ length: count }, (_, n) => `a${n}: me { uid }`).join(' ')} }`;

/** Bombs and nonsense: each is refused before it costs anything. */
export const hostileDocuments: readonly [name: string, document: string][] = [
  ['nested introspection', nested(20)],
  [
    'circular introspection',
    `{ __schema { types { fields { type { fields { type { fields { type { fields { type { name } } } } } } } } } } }`,
  ],
  ['deep selections', deep(200)],
  ['very deep selections', deep(1_500)],
  ['a fragment bomb', fragmentBomb(25)],
  ['a long fragment bomb', fragmentBomb(45)],
  ['a circle of fragments', '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }'],
  ['too many fragments', fragmentBomb(300)],
  ['many aliases', aliases(300)],
  ['many root fields', `{ ${'me { ... on User { uid } } '.repeat(21)} }`],
  ['the same field again and again', `{ me { ... on User { ${'uid '.repeat(3_000)} } } }`],
  ['many directives', `{ me { ... on User { uid ${'@skip(if: false) '.repeat(500)} } } }`],
  ['directives on every field', `{ me { ... on User { ${'uid @include(if: true) '.repeat(200)} } } }`],
  ['many tokens', `{ me(${'a: 1 '.repeat(5_000)}) { ... on User { uid } } }`],
  ['a huge document', `{ me { ... on User { uid } } } # ${'x'.repeat(300_000)}`],
  ['a page above the limit', '{ apiTokens(first: 101) { ... on ApiTokenConnection { nodes { uid } } } }'],
  ['a page far above the limit', '{ apiTokens(first: 2147483647) { ... on ApiTokenConnection { nodes { uid } } } }'],
  ['the last rows above the limit', '{ apiTokens(last: 500) { ... on ApiTokenConnection { nodes { uid } } } }'],
  [
    'a costly product',
    `{ ${Array.from({ length: 20 }, (_, n) => `a${n}: apiTokens(first: 100) { edges { node { uid name kind createdAt scopes } } nodes { uid name } }`).join(' ')} }`,
  ],
  ['broken syntax', '{ me { uid '],
  ['an unknown field', '{ me { ... on User { pasword } } }'],
  ['nested inline fragments', `{ me { ... on User { ${'... on User { '.repeat(1_500)} uid ${'} '.repeat(1_500)} } } }`],
  [
    'one fragment spread a thousand times',
    `{ me { ... on User { ${'...a '.repeat(1_000)} customer { uid nothing } } } } fragment a on User { ${'uid '.repeat(100)} }`,
  ],
  [
    'fragments that multiply fields',
    `{ ${times(20, (n) => `a${n}: me { ...a }`)} } fragment a on User { ${times(100, (n) => `...f${n % 30}`)} } ${times(30, (n) => `fragment f${n} on User { uid email }`)}`,
  ],
  ['thousands of variables', `query (${times(1_500, (n) => `$v${n}: Int`)}) { me { uid } }`],
  ['a variable of a list of lists of lists', `query ($v: ${'['.repeat(1_900)}Int${']'.repeat(1_900)}) { me { uid } }`],
  [
    'a deep list as an argument',
    `{ apiTokens(first: ${'['.repeat(1_900)}1${']'.repeat(1_900)}) { ... on ApiTokenConnection { nodes { uid } } } }`,
  ],
  [
    'a deep object as an argument',
    `mutation { logIn(input: ${'{a: '.repeat(1_200)}1${'}'.repeat(1_200)}) { __typename } }`,
  ],
  [
    'a long list as an argument',
    `{ apiTokens(first: [${'1 '.repeat(3_900)}]) { ... on ApiTokenConnection { nodes { uid } } } }`,
  ],
  [
    'a text of 250 kB',
    `{ apiTokens(after: "${'x'.repeat(250_000)}", first: 101) { ... on ApiTokenConnection { nodes { uid } } } }`,
  ],
  [
    'a block text of quotes and lines',
    `{ apiTokens(after: """${'\\n  " '.repeat(40_000)}""", first: 101) { ... on ApiTokenConnection { nodes { uid } } } }`,
  ],
  [
    'thousands of escapes',
    `{ apiTokens(after: "${'\\\\u0041'.repeat(30_000)}", first: 101) { ... on ApiTokenConnection { nodes { uid } } } }`,
  ],
  ['sixty operations', times(60, (n) => `query q${n} { me { uid } }`)],
  ['fields that contradict each other', `{ ${times(250, (n) => `x: apiTokens(first: ${n + 1}) { nodes { uid } }`)} }`],
  ['two fragments of one name, a hundred times', `{ me { ...a } } ${'fragment a on User { uid } '.repeat(100)}`],
  ['unknown directives', `{ me { ... on User { uid ${times(40, (n) => `@d${n}`)} } } }`],
  [
    'twenty logins',
    `mutation { ${times(21, (n) => `a${n}: logIn(input: { email: "a@b.example", password: "x" }) { __typename }`)} }`,
  ],
  [
    'introspection under many names',
    `{ ${times(30, (n) => `a${n}: __schema { types { fields { args { name type { name } } type { name ofType { name ofType { name } } } } } }`)} }`,
  ],
  [
    'introspection by type, under many names',
    `{ ${times(51, (n) => `a${n}: __type(name: "User") { fields { name } }`)} }`,
  ],
  [
    'many watches at once',
    `subscription { ${times(5, (n) => `a${n}: campaignStatistics(uid: "${n}") { __typename }`)} }`,
  ],
  [
    'lists in lists, 1,900 times',
    `{ apiTokens(after: ${'['.repeat(1_900)}${']'.repeat(1_900)}) { ... on ApiTokenConnection { nodes { uid } } } }`,
  ],
  ['lists that end the stack', `{ apiTokens(after: ${'['.repeat(3_980)}`],
  [
    'objects in objects, 900 times',
    `{ apiTokens(after: ${'{a:'.repeat(900)}1${'}'.repeat(900)}) { ... on ApiTokenConnection { nodes { uid } } } }`,
  ],
  ['types of lists of lists', `query ($a: ${'['.repeat(1_500)}Int${']'.repeat(1_500)}) { me { uid } }`],
  ['nothing but brackets', '{'.repeat(4_500)],
];

function times(count: number, make: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => make(n)).join(' ');
}
