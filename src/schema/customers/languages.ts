/** The languages that a customer may choose (D61). */
import { LANGUAGES, type Language as LanguageRow } from '../../domain/accounts/languages.ts';
import { builder } from '../builder.ts';

const Language = builder.objectRef<LanguageRow>('Language').implement({
  description: 'A language that this product is translated into.',
  // The same for everybody.
  authScopes: { public: true },
  fields: (t) => ({
    id: t.exposeInt('id', { description: 'What `languageId` means.' }),
    code: t.exposeString('code', { description: 'BCP 47: `en`.' }),
    name: t.exposeString('name', { description: 'In the language itself.' }),
  }),
});

builder.queryField('languages', (t) =>
  t.field({
    type: [Language],
    description: 'All languages with a translation.',
    authScopes: { authenticated: true },
    resolve: () => [...LANGUAGES],
  }),
);
