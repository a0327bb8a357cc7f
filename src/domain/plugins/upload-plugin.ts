/** Installing a plugin from a file: start, add pieces in any order, finish. What follows is the same as for an address. */
import { parseInput } from '../../lib/text.ts';
import { endChecks, inTransaction, type Context } from '../context.ts';
import { acceptArchive, beginChecking, underWay } from './check-package.ts';
import { beginPackage, type PackageProof } from './install-plugin.ts';
import { packageEnded, pieceWrong } from './plugin-errors.ts';
import {
  changePackage,
  findPackage,
  insertPackagePiece,
  packageSize,
  readPackageArchive,
} from './plugin-package-store.ts';
import {
  PACKAGE_BYTES_MAX,
  packagePieceInput,
  packageProofInput,
  PIECE_BYTES_MAX,
  type PluginPackage,
} from './plugin-package.ts';

/** Starts an upload. Throws ValidationError (`PLUGIN_SIGNATURE_MISSING`, `TOO_MANY_PLUGIN_UPLOADS`). */
export async function startPluginUpload(ctx: Context, given: PackageProof): Promise<PluginPackage> {
  return beginPackage(ctx, { url: null, proof: parseInput(packageProofInput, given), state: 'uploading' });
}

export interface PluginPiece {
  readonly uid: string;
  /** Counted from 0. */
  readonly no: number;
  readonly bytes: Uint8Array;
}

/**
 * Stores piece number `no`; the same number again changes nothing. Throws ValidationError `PLUGIN_PIECE_WRONG`, NotFoundError, WrongStateError
 * `PLUGIN_PACKAGE_ENDED`.
 */
export async function appendToPluginUpload(ctx: Context, { uid, no, bytes }: PluginPiece): Promise<PluginPackage> {
  parseInput(packagePieceInput, { no });
  if (bytes.length === 0 || bytes.length > PIECE_BYTES_MAX)
    throw pieceWrong(`A piece has 1 to ${PIECE_BYTES_MAX} bytes.`);
  return inTransaction(ctx, async ({ tx }) => {
    const made = await findPackage(tx, uid, true);
    if (made.state !== 'uploading') throw packageEnded();
    await insertPackagePiece(tx, made, { no, bytes });
    const size = await packageSize(tx, made);
    if (size.bytes > PACKAGE_BYTES_MAX)
      throw pieceWrong(`The file may not be larger than ${PACKAGE_BYTES_MAX / 1_000_000} MB.`);
    await changePackage(tx, made, { from: 'uploading', to: 'uploading', sizeBytes: size.bytes });
    return findPackage(tx, uid);
  });
}

/**
 * Finishes the upload: the archive is checked and unpacked. Throws ValidationError (`PLUGIN_PIECE_WRONG`; `PLUGIN_PACKAGE_REFUSED` with the
 * reason), NotFoundError, WrongStateError `PLUGIN_PACKAGE_ENDED`, `PLUGIN_PACKAGE_CANCELLED`, `PLUGIN_INSTALLATION_RUNS`: the upload stays.
 */
export async function finishPluginUpload(ctx: Context, { uid }: { readonly uid: string }): Promise<PluginPackage> {
  const made = await findPackage(ctx.database, uid);
  if (made.state !== 'uploading') throw packageEnded();
  const { bytes, pieces, last } = await packageSize(ctx.database, made);
  if (last !== pieces - 1 || pieces === 0) throw pieceWrong('A piece is missing: send all from 0 on.');
  endChecks(ctx);
  await beginChecking(ctx, made, { from: 'uploading', sizeBytes: bytes });
  return underWay(ctx, { made, field: 'file' }, async () => {
    await acceptArchive(ctx, made, await readPackageArchive(ctx.database, made));
  });
}
