/**
 * Decides what each column of a file is: by the uploader's mapping, else by the header in usual spellings of people and products,
 * else by the content. Ignored columns are reported.
 */
import { isEmailAddress } from '../../../lib/text.ts';
import type { ListField } from '../list-field.ts';
import type { ImportNotice, MappingFault } from './import-report.ts';
import { unusableFile, wrongMapping } from './list-import-errors.ts';
import { SPECIAL_TARGETS, type ColumnMapping, type ImportColumn } from './list-import.ts';

export interface MapColumnsInput {
  /** Undefined when the file has none. */
  readonly header: readonly string[] | undefined;
  /** The cells of the first people. */
  readonly sample: readonly (readonly string[])[];
  readonly fields: readonly Pick<ListField, 'tag' | 'label'>[];
  readonly mapping: ColumnMapping;
}

export interface MappedColumns {
  readonly columns: readonly ImportColumn[];
  readonly notices: readonly ImportNotice[];
}

/** Spellings in the form of `plainName`, in the most frequent languages of exports. */
const USUAL_NAMES: Readonly<Record<string, readonly string[]>> = {
  EMAIL: [
    ...['email', 'emailaddress', 'emailadress', 'mail', 'mailaddress', 'subscriberemail', 'contactemail', 'useremail'],
    ...[
      'emailadresse',
      'mailadresse',
      'adresseemail',
      'adressemail',
      'courriel',
      'correo',
      'correoelectronico',
      'indirizzoemail',
    ],
    ...[
      'emailadres',
      'epost',
      'epostadress',
      'eposta',
      'почта',
      'емейл',
      '邮箱',
      '电子邮件',
      'メールアドレス',
      '이메일',
      'البريدالإلكتروني',
    ],
  ],
  FIRST_NAME: [
    ...[
      'firstname',
      'fname',
      'givenname',
      'forename',
      'vorname',
      'prenom',
      'nombre',
      'nome',
      'voornaam',
      'fornamn',
      'fornavn',
    ],
    ...['имя', '名', 'subscriberfirstname'],
  ],
  LAST_NAME: [
    ...[
      'lastname',
      'lname',
      'surname',
      'familyname',
      'nachname',
      'familienname',
      'nomdefamille',
      'apellido',
      'apellidos',
    ],
    ...['cognome', 'sobrenome', 'achternaam', 'efternamn', 'etternavn', 'фамилия', '姓', 'subscriberlastname'],
  ],
  STATUS: ['status', 'subscriberstatus', 'subscriptionstatus', 'optinstatus'],
  TAGS: ['tags', 'tag', 'labels', 'subscribertags'],
};
/** A column contains the addresses if this share of its cells are addresses. */
const ADDRESS_SHARE_MIN = 0.5;
/** Columns named in a notice. */
const NAMED_COLUMNS_MAX = 20;
const SHOWN_HEADER_MAX = 60;

/** Throws ValidationError on `mapping.<header>` for an unknown field or header, on `file` when no column holds addresses. */
export function mapColumns({ header, sample, fields, mapping }: MapColumnsInput): MappedColumns {
  const width = header?.length ?? Math.max(0, ...sample.map((cells) => cells.length));
  const headers = Array.from({ length: width }, (_, index) => header?.[index]?.trim() ?? '');
  const wanted = explicitTargets(headers, mapping, fields);
  const taken = new Set([...wanted.values()].filter((target) => target !== null));
  const columns = headers.map((name, index): ImportColumn => {
    const explicit = wanted.get(index);
    if (explicit !== undefined) return { header: name, target: explicit };
    const target = header ? targetByName(name, fields) : undefined;
    if (target === undefined || taken.has(target)) return { header: name, target: null };
    taken.add(target);
    return { header: name, target };
  });
  const notices: ImportNotice[] = [];
  const complete = taken.has('EMAIL') ? columns : withAddressColumn(columns, sample, notices);
  return { columns: complete, notices: [...notices, ...noticesOf(complete, wanted, header !== undefined)] };
}

/** The uploader's mapping, by column. A key is a header (without regard to case) or a column's number from 1. */
function explicitTargets(
  headers: readonly string[],
  mapping: ColumnMapping,
  fields: MapColumnsInput['fields'],
): Map<number, string | null> {
  const known = new Set<string>([...SPECIAL_TARGETS, ...fields.map(({ tag }) => tag)]);
  const wanted = new Map<number, string | null>();
  const faults: MappingFault[] = [];
  for (const [key, value] of Object.entries(mapping)) {
    const index = indexOf(headers, key);
    const target = value?.trim().toUpperCase() ?? '';
    if (index === undefined) faults.push({ column: key, field: null });
    else if (target !== '' && !known.has(target)) faults.push({ column: key, field: target });
    else wanted.set(index, target === '' ? null : target);
  }
  if (faults.length > 0) throw wrongMapping(faults);
  return wanted;
}

function indexOf(headers: readonly string[], key: string): number | undefined {
  const name = key.trim().toLowerCase();
  const byName = headers.findIndex((header) => header !== '' && header.toLowerCase() === name);
  if (byName !== -1) return byName;
  const number = /^\d{1,5}$/.test(name) ? Number(name) : 0;
  return number >= 1 && number <= headers.length ? number - 1 : undefined;
}

/**
 * A field of the list by tag or label goes before the usual names; our own names go before it: an opt-out in a column `Status`
 * must not become a value because a field has that label (D48, D53).
 */
function targetByName(header: string, fields: MapColumnsInput['fields']): string | undefined {
  const name = plainName(header);
  if (name === '') return undefined;
  const own = SPECIAL_TARGETS.find((target) => plainName(target) === name);
  if (own !== undefined) return own;
  const field =
    fields.find(({ tag }) => plainName(tag) === name) ?? fields.find(({ label }) => plainName(label) === name);
  if (field) return field.tag;
  const usual = Object.entries(USUAL_NAMES).find(([, names]) => names.includes(name))?.[0];
  const isOffered = SPECIAL_TARGETS.some((target) => target === usual) || fields.some(({ tag }) => tag === usual);
  return isOffered ? usual : undefined;
}

/** `E-mail`, `e_mail` and `EMAIL` are one name; so are `Prénom` and `prenom`. */
function plainName(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

function withAddressColumn(
  columns: readonly ImportColumn[],
  sample: MapColumnsInput['sample'],
  notices: ImportNotice[],
): ImportColumn[] {
  const shares = columns.map(({ target }, index) => (target === null ? addressShare(sample, index) : 0));
  const best = shares.indexOf(Math.max(...shares));
  if ((shares[best] ?? 0) < ADDRESS_SHARE_MIN) {
    const names = columns.map(({ header }, index) => shownHeader(header, index)).slice(0, NAMED_COLUMNS_MAX);
    throw unusableFile({ code: 'no_address_column', params: { columns: names } });
  }
  const found = columns[best];
  if (found) notices.push({ code: 'addresses_from', params: { column: shownHeader(found.header, best) } });
  return columns.map((column, index) => (index === best ? { ...column, target: 'EMAIL' } : column));
}

function addressShare(sample: MapColumnsInput['sample'], index: number): number {
  const cells = sample.map((row) => row[index]?.trim() ?? '').filter((cell) => cell !== '');
  return cells.length === 0 ? 0 : cells.filter(isEmailAddress).length / cells.length;
}

function noticesOf(
  columns: readonly ImportColumn[],
  wanted: ReadonlyMap<number, string | null>,
  hasHeader: boolean,
): ImportNotice[] {
  const left = columns.flatMap(({ header, target }, index) =>
    target === null && !wanted.has(index) ? [shownHeader(header, index)] : [],
  );
  const notices: ImportNotice[] = hasHeader ? [] : [{ code: 'no_header', params: {} }];
  if (left.length === 0) return notices;
  const named = { columns: left.slice(0, NAMED_COLUMNS_MAX), areMore: left.length > NAMED_COLUMNS_MAX };
  return [...notices, { code: 'columns_left_out', params: named }];
}

function shownHeader(header: string, index: number): string {
  return header === ''
    ? `${index + 1}`
    : `“${header.length > SHOWN_HEADER_MAX ? `${header.slice(0, SHOWN_HEADER_MAX)}…` : header}”`;
}
