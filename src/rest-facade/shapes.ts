/**
 * The shapes of answers; the reference shows them and the tests compare every answer with them: a row names its answer by one of
 * the functions here. Objects are strict: nothing else is answered.
 */
import { z } from 'zod';

/** A row's answer on success; dialects turn it into a status and an envelope. */
export type AnswerShape =
  | { readonly kind: 'body' | 'created' | 'accepted'; readonly shape: z.ZodType }
  /** An index in pages: the shape of one of its rows. */
  | { readonly kind: 'page'; readonly shape: z.ZodType }
  | { readonly kind: 'stream'; readonly contentType: readonly string[] };

/** 200 with this body. */
export function answersBody(shape: z.ZodType): AnswerShape {
  return { kind: 'body', shape };
}

/** 201, or 200 in the classic dialect, with this body. */
export function answersCreated(shape: z.ZodType): AnswerShape {
  return { kind: 'created', shape };
}

/** 202 with this body. */
export function answersAccepted(shape: z.ZodType): AnswerShape {
  return { kind: 'accepted', shape };
}

/** An index, in pages or bare (decision D2), of such rows. */
export function answersPage(shape: z.ZodType): AnswerShape {
  return { kind: 'page', shape };
}

/** A download. */
export function answersStream(...contentType: readonly string[]): AnswerShape {
  return { kind: 'stream', contentType };
}

export const uidShape = z.string().regex(/^[0-9a-f]{13}$/);
/** `YYYY-MM-DD HH:MM:SS`, UTC (decision D8). */
export const timeShape = z.string().regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
/** A fraction with four places (decision D23). */
export const rateShape = z.number().min(0);
export const countShape = z.int().min(0);

/** The action result of specification 2.12: `{status: 1, message, ...}`. */
export function actionShape<More extends z.ZodRawShape>(more: More) {
  return z.strictObject({ status: z.literal(1), message: z.string(), ...more });
}
