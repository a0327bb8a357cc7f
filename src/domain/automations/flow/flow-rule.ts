/** A segment's rule as a part of a flow. Whether its fields, tags and campaigns exist on the list is checked with the flow's other references. */
import { z } from 'zod';
import { ValidationError } from '../../../lib/errors.ts';
import { parseRule } from '../../audience/segments/parse-rule.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';

/** Faults stand at their place inside: `rule.all.0.email.is` becomes `all.0.email.is`. */
export const parsedRule = z.unknown().transform((given, context): SegmentRule => {
  try {
    return parseRule(given);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    for (const [place, sentences] of Object.entries(error.fields)) {
      const path = place.split('.').slice(1);
      for (const message of sentences) context.addIssue({ code: 'custom', path, params: { sentence: message } });
    }
    return z.NEVER;
  }
});
