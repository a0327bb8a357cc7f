/**
 * Installing a plugin from an address (specification 4.11, D39): downloaded through the guard for public addresses (D44), within limits of
 * time and size, then checked. Its row shows how far it is; cancelling it ends it.
 */
import { newUid } from '../../lib/ids.ts';
import { openOutbound } from '../../lib/outbound-request.ts';
import { parseInput } from '../../lib/text.ts';
import { requireRecentLogin } from '../accounts/require-recent-login.ts';
import { endChecks, inTransaction, type Context } from '../context.ts';
import { acceptArchive, beginChecking, lockInstallations, refuseSecond, underWay } from './check-package.ts';
import { checksumMissing, packageCancelled, signatureMissing, tooManyUploads } from './plugin-errors.ts';
import { changePackage, countPackages, findPackage, insertPackage, sweepPackages } from './plugin-package-store.ts';
import {
  DOWNLOAD_MS_MAX,
  OPEN_UPLOADS_MAX,
  PACKAGE_BYTES_MAX,
  packageUrlInput,
  type PluginPackage,
} from './plugin-package.ts';

export interface PackageProof {
  readonly sha256?: string | null | undefined;
  readonly signature?: string | null | undefined;
}

/** How often the row shows the progress, and a cancellation is noticed. */
const PROGRESS_MS = 500;

/**
 * Downloads, checks and unpacks it; it is inactive then, or waits for an activation. Throws ValidationError (`PLUGIN_CHECKSUM_MISSING`,
 * `PLUGIN_SIGNATURE_MISSING`; `PLUGIN_PACKAGE_REFUSED` with the reason, which its row keeps), WrongStateError `PLUGIN_INSTALLATION_RUNS`,
 * `PLUGIN_PACKAGE_CANCELLED`.
 */
export async function installPlugin(
  ctx: Context,
  given: PackageProof & { readonly url: string },
): Promise<PluginPackage> {
  const { url, ...proof } = parseInput(packageUrlInput, given);
  const isRequired = ctx.installation.trust?.pluginChecksum !== 'optional';
  if (isRequired && !proof.sha256) throw checksumMissing();
  const made = await beginPackage(ctx, { url, proof, state: 'downloading' });
  return underWay(ctx, { made, field: 'url' }, async () => {
    const archive = await download(ctx, made, url);
    await beginChecking(ctx, made, { from: 'downloading', sizeBytes: archive.length });
    await acceptArchive(ctx, made, archive);
  });
}

interface Beginning {
  readonly url: string | null;
  readonly proof: PackageProof;
  readonly state: 'uploading' | 'downloading';
}

/** Makes the row of a package that is under way. Throws ForbiddenError `LOGIN_TOO_OLD`, too. */
export async function beginPackage(ctx: Context, { url, proof, state }: Beginning): Promise<PluginPackage> {
  if ((ctx.installation.trust?.pluginKeys.length ?? 0) > 0 && !proof.signature) throw signatureMissing();
  await requireRecentLogin(ctx);
  endChecks(ctx);
  const { sha256 = null, signature = null } = proof;
  const uid = newUid();
  return inTransaction(ctx, async ({ tx }) => {
    await lockInstallations(tx);
    await sweepPackages(tx);
    if (state === 'downloading') await refuseSecond(tx);
    if (state === 'uploading' && (await countPackages(tx, ['uploading'])) >= OPEN_UPLOADS_MAX)
      throw tooManyUploads(OPEN_UPLOADS_MAX);
    await insertPackage(tx, { uid, url, sha256, signature, state });
    return findPackage(tx, uid);
  });
}

async function download(ctx: Context, made: PluginPackage, url: string): Promise<Buffer> {
  const answer = await openOutbound(url, {
    allowed: ctx.installation.outboundAllowHosts ?? [],
    timeoutMs: DOWNLOAD_MS_MAX,
    bytesMax: PACKAGE_BYTES_MAX,
  });
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let shownAt = performance.now();
    for await (const chunk of answer.body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (performance.now() - shownAt < PROGRESS_MS) continue;
      shownAt = performance.now();
      const change = { from: 'downloading', to: 'downloading', sizeBytes: bytes } as const;
      if (!(await changePackage(ctx.database, made, change))) throw packageCancelled();
    }
    return Buffer.concat(chunks);
  } finally {
    answer.close();
  }
}
