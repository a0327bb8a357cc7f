/**
 * What is reported about an import: why a line was rejected, why the whole file failed, and notices for the uploader. Codes with
 * parameters, as they are stored, and the one catalogue of their texts.
 */
import type { CodedReason, NoParams, ReasonTexts } from '../../../lib/coded-reason.ts';
import { subscriptionEnded } from '../../billing/plans/allowance-errors.ts';
import { limitText, type PeopleLimit } from '../../billing/plans/require-within-limit.ts';
import { FIELD_VALUE_FAULTS, type FieldValueFault } from '../field-value.ts';
import { TAG_LENGTH_MAX, TAGS_MAX } from '../subscriber.ts';
import { RECORD_BYTES_MAX } from './csv-reader.ts';

/** For a line, rejected unless noted. Stored in `import_rejection.reason_code`. */
interface RejectionParams {
  line_too_long: NoParams;
  quote_not_closed: NoParams;
  /** The number of cells in the line, and of columns in the file. */
  too_many_cells: { readonly cells: number; readonly columns: number };
  email_missing: NoParams;
  email_invalid: { readonly email: string };
  status_unknown: { readonly status: string };
  /** The rest of the line is taken. */
  tags_left_out: NoParams;
  tag_not_readable: NoParams;
  tag_too_long: NoParams;
  field_not_readable: { readonly tag: string };
  /** A new person has no value, and the field has no default. */
  field_missing: { readonly tag: string };
  field_invalid: { readonly tag: string; readonly fault: FieldValueFault };
  /** The reason, if the customer itself suppressed it. */
  suppressed: { readonly reason: string | null };
  plan_limit: { readonly limit: PeopleLimit; readonly max: number };
  /** Nothing of the line is kept. */
  person_erased: NoParams;
  refused_by_plugin: { readonly plugin: string; readonly reason: string };
}
export type RejectionReason = CodedReason<RejectionParams>;

/** For the whole file. Stored in `mail_list_import.error_code`. */
interface FailureParams {
  file_empty: NoParams;
  file_not_csv: NoParams;
  file_not_text: NoParams;
  no_address_column: { readonly columns: readonly string[] };
  mapping_wrong: { readonly faults: readonly MappingFault[] };
  upload_not_finished: NoParams;
  subscription_ended: NoParams;
  could_not_go_on: NoParams;
}
export type ImportFailure = CodedReason<FailureParams>;

/** The fault of one entry of the mapping; `field`: the target that the list does not have. */
export interface MappingFault {
  readonly column: string;
  readonly field: string | null;
}

/** Stored in `mail_list_import.notices`. */
interface NoticeParams {
  addresses_from: { readonly column: string };
  no_header: NoParams;
  columns_left_out: { readonly columns: readonly string[]; readonly areMore: boolean };
}
export type ImportNotice = CodedReason<NoticeParams>;

type ReportParams = RejectionParams & FailureParams & NoticeParams;
type ReportCode = keyof ReportParams;

const TEXTS: ReasonTexts<ReportParams> = {
  line_too_long: () => `the line is longer than ${RECORD_BYTES_MAX / 1_048_576} MiB`,
  quote_not_closed: () => 'a quote in this line is never closed',
  too_many_cells: ({ cells, columns }) => `the line has ${cells} cells, the file has ${columns} columns`,
  email_missing: () => 'the email address is missing',
  email_invalid: ({ email }) => `“${email}” is not a valid email address`,
  status_unknown: ({ status }) => `“${status}” is no status: use subscribed, unsubscribed or unconfirmed`,
  tags_left_out: () => `more than ${TAGS_MAX} tags: the tags were left out`,
  tag_not_readable: () => 'a tag must not contain line breaks, control characters or unreadable characters',
  tag_too_long: () => `a tag may not be longer than ${TAG_LENGTH_MAX} characters`,
  field_not_readable: ({ tag }) => `${tag} holds characters that cannot be read`,
  field_invalid: ({ tag, fault }) => `${tag} ${FIELD_VALUE_FAULTS[fault]}`,
  field_missing: ({ tag }) => `${tag} is required and has no value`,
  suppressed: ({ reason }) => (reason === null ? 'the address is suppressed' : `the address is suppressed (${reason})`),
  plan_limit: ({ limit, max }) => limitText({ limit, max }),
  person_erased: () => 'the person was erased',
  refused_by_plugin: ({ plugin, reason }) => `the plugin ${plugin} refuses it: ${reason}`,
  file_empty: () => 'The file is empty.',
  file_not_csv: () => 'This is a spreadsheet or an archive. Save it as CSV (in Excel: “CSV UTF-8”) and upload that.',
  file_not_text: () => 'This is no text file. Upload a CSV file.',
  no_address_column: ({ columns }) =>
    `No column contains email addresses. Name one of them “email”, or give it in the mapping. The columns are: ${columns.join(', ')}.`,
  mapping_wrong: ({ faults }) => faults.map(mappingFaultText).join(' '),
  upload_not_finished: () => 'The upload was not finished within a day.',
  subscription_ended: () => subscriptionEnded().message,
  could_not_go_on: () =>
    'The import failed. People who were added so far are on the list; import the file again for the rest.',
  addresses_from: ({ column }) => `The addresses are taken from column ${column}.`,
  no_header: () => 'The file has no header line: its first line is a person.',
  columns_left_out: ({ columns, areMore }) =>
    `Not imported, because no field of the list has their name: ${columns.join(', ')}${areMore ? ', …' : ''}.`,
};

/** The text of a code; the code itself if only another version of the program knows it. */
export function reportText<Code extends ReportCode>({ code, params }: CodedReason<ReportParams, Code>): string {
  return Object.hasOwn(TEXTS, code) ? TEXTS[code](params) : code;
}

export function mappingFaultText({ field }: MappingFault): string {
  return field === null ? 'The file has no such column.' : `The list has no field with the tag ${field}.`;
}
