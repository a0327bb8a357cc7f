/** Pictures of users, customers (D61) and lists: an uploaded file that a user names, checked before its address is kept. */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { pictureOfUser } from '../accounts/customer-store.ts';
import type { ChosenPicture } from '../accounts/update-customer.ts';
import { knownCustomer } from '../accounts/known-customer.ts';
import { viewerOf, type Context } from '../context.ts';
import { findFileByToken, findReadyFile } from './file-store.ts';
import type { StoredFile } from './file.ts';

/** It is shown as small as a stamp; a photo from a telephone has more and should be made smaller first. */
const PICTURE_MEGABYTES_MAX = 2;
const BYTES_PER_MEGABYTE = 1_048_576;
/** What every browser shows; recognised by the first bytes when the file was uploaded. */
const PICTURE_TYPES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
/** The address of a file, as answers show it: a client may send it back unchanged. */
const OWN_ADDRESS = /\/files\/([0-9a-f]{32})\/[^/]*$/;

/** What `choose` takes. */
export const pictureInput = z
  .string()
  .describe(`The uid of an uploaded picture: PNG, JPEG, WebP or GIF, at most ${PICTURE_MEGABYTES_MAX} MB.`);

type Given = string | null | undefined;
type Chosen = ChosenPicture | null | undefined;

/**
 * A picture for the caller: by the uid or the address of a file of the caller's customer. Null and an empty text remove the present
 * one, undefined and the address of the present one change nothing. Throws ValidationError on `image`.
 */
export async function chooseOwnPicture(ctx: Context, given: Given): Promise<Chosen> {
  return given ? choose(ctx, given, await pictureOfUser(ctx.db, viewerOf(ctx))) : emptied(given);
}

/** The same for a customer, by an administrator, of whose customer the file is. Throws NotFoundError `CUSTOMER_NOT_FOUND`, too. */
export async function chooseCustomerPicture(ctx: Context, uid: string, given: Given): Promise<Chosen> {
  return given ? choose(ctx, given, (await knownCustomer(ctx, uid)).image) : emptied(given);
}

/**
 * The place of a logo for a list of the caller's customer, below `/files/`. Throws ValidationError on `logo`. Readers of a logo look
 * whether its file is still there.
 */
export async function chooseLogo(ctx: Context, given: Given): Promise<Given> {
  return given ? (await choose(ctx, given, null, 'logo'))?.place : emptied(given);
}

function emptied(given: Given): null | undefined {
  return given === undefined ? undefined : null;
}

async function choose(ctx: Context, given: string, present: string | null, field = 'image'): Promise<Chosen> {
  const wrongPicture = (why: string) => new ValidationError({ [field]: [`The ${field} ${why}.`] }, 'PICTURE_WRONG');
  const noSuchFile = () => wrongPicture('must be the uid of a file that you have uploaded');
  const name = given.trim();
  if (present && name === pictureAddress(ctx.installation.baseUrl, present)) return undefined;
  const file = await find(ctx, name);
  if (!file) throw noSuchFile();
  if (!PICTURE_TYPES.has(file.contentType)) throw wrongPicture('must be a PNG, JPEG, WebP or GIF picture');
  if (Number(file.sizeBytes) > PICTURE_MEGABYTES_MAX * BYTES_PER_MEGABYTE)
    throw wrongPicture(`may have at most ${PICTURE_MEGABYTES_MAX} MB`);
  return {
    place: placeOfPicture(file),
    async hold(tx) {
      if (!(await findReadyFile(tx, file, true))) throw noSuchFile();
    },
  };
}

async function find(ctx: Context, name: string): Promise<StoredFile | undefined> {
  const { customerId } = viewerOf(ctx);
  const [, token] = OWN_ADDRESS.exec(name) ?? [];
  if (token === undefined) return findReadyFile(ctx.db, { customerId, uid: name });
  const file = await findFileByToken(ctx.db, token);
  return file?.customerId === customerId ? file : undefined;
}

/** What accounts keep of a picture. */
export function placeOfPicture({ token, name }: Pick<StoredFile, 'token' | 'name'>): string {
  return `${token}/${encodeURIComponent(name)}`;
}

/** The public address of a kept picture. */
export function pictureAddress(baseUrl: string, place: string): string {
  return `${baseUrl}/files/${place}`;
}
