/** What is wrong with a reader's input, in the words of the page. The domain's own texts are for programs, and in English. */
import { FIELD_VALUE_MAX, readFieldValue, type FieldType } from '../domain/audience/field-value.ts';
import type { FieldErrors, ValidationError } from '../lib/errors.ts';
import { isEmailAddress } from '../lib/text.ts';
import type { Words } from './words.ts';

/** The address of a person is no field of the list, but stands among them in the form. */
export const EMAIL_TAG = 'EMAIL';

export interface GivenField {
  readonly tag: string;
  readonly type: FieldType;
  readonly options: readonly string[];
  readonly value: string;
}

/** One text for each field that the domain refused. */
export function faultsOf({ fields, code }: ValidationError, given: readonly GivenField[], words: Words): FieldErrors {
  return Object.fromEntries(
    Object.keys(fields).map((tag) => {
      const field = given.find((one) => one.tag === tag);
      return [tag, [code === 'LIST_FULL' ? words.text('fault.list_full') : faultOf(field, words)]] as const;
    }),
  );
}

function faultOf(field: GivenField | undefined, words: Words): string {
  if (!field) return words.text('fault.other');
  if (field.value.trim() === '') return words.text('fault.required');
  if (field.tag === EMAIL_TAG) return words.text(isEmailAddress(field.value.trim()) ? 'fault.other' : 'fault.email');
  const { fault } = readFieldValue(field, field.value);
  return words.text(fault ? `fault.${fault}` : 'fault.other', { max: FIELD_VALUE_MAX });
}
