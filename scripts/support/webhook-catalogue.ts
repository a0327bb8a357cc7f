/** The catalogue of webhooks' events for the manual: each with the fields of its payload and an example, from the types that the product uses. */
import { z } from 'zod';
import { WEBHOOK_EVENTS } from '../../src/domain/webhooks/webhook-events.ts';

const typeShape = z.union([z.string(), z.array(z.string())]);
const fieldsShape = z.object({
  properties: z.record(
    z.string(),
    z
      .object({
        type: typeShape.optional(),
        anyOf: z.array(z.object({ type: typeShape })).optional(),
        description: z.string().optional(),
      })
      .transform(({ type, anyOf = [], description }) => ({
        types: [type ?? [], ...anyOf.map((one) => one.type)].flat(),
        description,
      })),
  ),
});

/** A section for each event. */
export function webhookCatalogue(): string {
  return Object.entries(WEBHOOK_EVENTS)
    .map(([name, { description, shape, example }]) => {
      const { properties } = fieldsShape.parse(z.toJSONSchema(shape));
      const fields = Object.entries(properties).map(
        ([field, { types, description: meaning = 'The name of the event.' }]) =>
          `| \`${field}\` | ${types.join(' or ')} | ${meaning} |`,
      );
      return [
        `### ${name}\n\n${description}`,
        ['| Field | Type | Meaning |', '|---|---|---|', ...fields].join('\n'),
        `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
      ].join('\n\n');
    })
    .join('\n\n');
}
