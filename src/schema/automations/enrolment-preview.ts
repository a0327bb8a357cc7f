/** Who would enter an automation now by what they are already. */
import type { EnteringPreview } from '../../domain/automations/entries/preview-entering.ts';
import { builder } from '../builder.ts';

const reading = { scope: 'automations:read' } as const;

export const RefusedPeople = builder.objectRef<{ reason: string; people: number }>('RefusedPeople').implement({
  description: 'People who may not enter, by one reason.',
  authScopes: reading,
  fields: (t) => ({
    reason: t.exposeString('reason', {
      description: 'As `executeAutomation` answers it: such as `entered_before` or `not_subscribed`.',
    }),
    people: t.exposeInt('people'),
  }),
});

export const EnrolmentPreview = builder.objectRef<EnteringPreview>('AutomationEnrolmentPreview').implement({
  description: 'Who would enter an automation now.',
  authScopes: reading,
  fields: (t) => ({
    version: t.exposeInt('version', { description: 'The version that people enter.' }),
    asOf: t.expose('asOf', { type: 'DateTime' }),
    matching: t.exposeInt('matching', { description: 'People who match, with those who may not enter.' }),
    mayEnter: t.exposeInt('mayEnter', { description: 'Who of them would enter: the number to name in the act.' }),
    refused: t.field({ type: [RefusedPeople], resolve: ({ refused }) => [...refused] }),
    triggers: t.stringList({
      description: 'Types of the triggers by which people match.',
      resolve: ({ triggers }) => [...triggers],
    }),
    triggersLeftOut: t.stringList({
      description: 'Types of the others: what they ask for happens at a moment, and nobody matches by it later.',
      resolve: ({ triggersLeftOut }) => [...triggersLeftOut],
    }),
  }),
});
