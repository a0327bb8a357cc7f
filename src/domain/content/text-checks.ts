/** The checks of the texts that callers give for a message: of a campaign, and of a template. Undefined changes nothing. */
import type { z } from 'zod';
import { longText, multiLine, optionalLine } from '../../lib/text.ts';
import { HTML_MEGABYTES_MAX, PLAIN_LENGTH_MAX, SUBJECT_LENGTH_MAX } from './message.ts';

/** Mail programs show less than this beside the subject. */
const PREHEADER_LENGTH_MAX = 255;

/** Null changes nothing, like absent: these fields cannot be empty. */
export function given<Check extends z.ZodType>(check: Check) {
  return check.nullish().transform((value) => value ?? undefined);
}

export const textChecks = {
  subject: given(optionalLine(SUBJECT_LENGTH_MAX)),
  /** Null is none. */
  preheader: optionalLine(PREHEADER_LENGTH_MAX)
    .nullish()
    .transform((value) => (value === null ? '' : value)),
  html: given(longText(HTML_MEGABYTES_MAX)),
  plain: given(multiLine(PLAIN_LENGTH_MAX)),
};
