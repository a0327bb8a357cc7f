/** The catalogue of webhooks' events for the manual: each with the fields of its payload and an example, from the types that the product uses. */
import { z } from 'zod';
import { WEBHOOK_EVENTS } from '../../src/domain/webhooks/webhook-events.ts';

const fieldsShape = z.object({
  properties: z.record(
    z.string(),
    z.object({ type: z.union([z.string(), z.array(z.string())]), description: z.string().optional() }),
  ),
});

/** A section for each event. */
export function webhookCatalogue(): string {
  return Object.entries(WEBHOOK_EVENTS)
    .map(([name, { description, shape, example }]) => {
      const { properties } = fieldsShape.parse(z.toJSONSchema(shape));
      const fields = Object.entries(properties).map(
        ([field, { type, description: meaning = 'The name of the event.' }]) =>
          `| \`${field}\` | ${[type].flat().join(' or ')} | ${meaning} |`,
      );
      return [
        `### ${name}\n\n${description}`,
        ['| Field | Type | Meaning |', '|---|---|---|', ...fields].join('\n'),
        `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
      ].join('\n\n');
    })
    .join('\n\n');
}
