/** What is wrong with a flow, or may be meant so. */
import type { FlowFault as Fault } from '../../domain/automations/flow/flow-fault.ts';
import { builder } from '../builder.ts';

export const FlowFault = builder.objectRef<Fault>('FlowFault').implement({
  description: 'What is wrong with a flow, for the person who draws it.',
  authScopes: { scope: 'automations:read' },
  fields: (t) => ({
    node: t.exposeString('node', {
      nullable: true,
      description: 'The id of a node, a goal or an exit; null: of the flow as a whole.',
    }),
    field: t.exposeString('field', {
      nullable: true,
      description: 'Within the node, such as `for.days`; null: the node itself.',
    }),
    code: t.exposeString('code', { description: 'For programs. Stable.' }),
    message: t.exposeString('message', { description: 'For people. May change.' }),
  }),
});
