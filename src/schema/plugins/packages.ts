/** Installing plugins: packages, from an address or a file, and going back to the version before. */
import { RECENT_LOGIN } from '../../domain/accounts/require-recent-login.ts';
import {
  cancelPluginPackage,
  pluginPackage,
  pluginPackages,
  rollBackPlugin,
} from '../../domain/plugins/change-package.ts';
import { installPlugin } from '../../domain/plugins/install-plugin.ts';
import {
  PACKAGE_BYTES_MAX,
  packagePieceInput,
  packageProofInput,
  packageUrlInput,
  type PluginPackage as PackageRow,
  type PluginPackagePlace as Place,
  type PluginPackageState as State,
} from '../../domain/plugins/plugin-package.ts';
import { pluginKeyInput } from '../../domain/plugins/plugin.ts';
import { appendToPluginUpload, finishPluginUpload, startPluginUpload } from '../../domain/plugins/upload-plugin.ts';
import { builder } from '../builder.ts';
import { Plugin } from './plugin.ts';

const forAdministrators = { admin: true } as const;
/** Each may take a minute, and holds an archive in memory. */
const ONCE = { executionsMax: 1 } as const;
const MEGABYTES_MAX = PACKAGE_BYTES_MAX / 1_000_000;

const PluginPackageState = builder.enumType('PluginPackageState', {
  description: 'How far the installation of a plugin is.',
  values: {
    UPLOADING: { value: 'uploading', description: 'Its pieces are coming.' },
    DOWNLOADING: { value: 'downloading', description: 'It is being downloaded.' },
    CHECKING: { value: 'checking', description: 'It is complete, and is being checked.' },
    READY: { value: 'ready', description: 'It is installed; activate the plugin to use it.' },
    FAILED: { value: 'failed', description: '`reason` says why. Nothing of it is left.' },
    CANCELLED: { value: 'cancelled', description: 'Nothing of it is left.' },
  } satisfies Record<string, { value: State; description: string }>,
});

const PluginPackagePlace = builder.enumType('PluginPackagePlace', {
  description: 'What a package is for its plugin.',
  values: {
    CURRENT: { value: 'current', description: 'The plugin uses it.' },
    WAITING: { value: 'waiting', description: 'The plugin uses it from the next activation on.' },
    FORMER: { value: 'former', description: 'The plugin used it before; `rollBackPlugin` goes back to it.' },
  } satisfies Record<string, { value: Place; description: string }>,
});

const PluginPackage = builder.objectRef<PackageRow>('PluginPackage').implement({
  description: 'The archive of a plugin that was installed, or is being installed.',
  authScopes: forAdministrators,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    state: t.field({ type: PluginPackageState, resolve: ({ state }) => state }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it failed.' }),
    url: t.exposeString('url', { nullable: true, description: 'Where it was downloaded; null: it was uploaded.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'Bytes that have come so far.' }),
    vendor: t.exposeString('vendor', { nullable: true, description: 'null: it is not ready.' }),
    name: t.exposeString('name', { nullable: true }),
    version: t.exposeString('version', { nullable: true }),
    place: t.field({
      type: PluginPackagePlace,
      nullable: true,
      description: 'null: it is not kept.',
      resolve: ({ place }) => place,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

const proofDescriptions = {
  sha256: 'The SHA-256 checksum of the file.',
  signature: 'Its Ed25519 signature. Required when the setting PLUGIN_KEYS is set.',
} as const;

builder.queryField('pluginPackages', (t) =>
  t.field({
    type: [PluginPackage],
    description: 'Plugins that were installed, or are being installed: the last 200, the latest first.',
    authScopes: forAdministrators,
    resolve: async (_root, _args, ctx) => [...(await pluginPackages(ctx))],
  }),
);

builder.queryField('pluginPackage', (t) =>
  t.field({
    type: PluginPackage,
    description: 'One of them.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, args, ctx) => pluginPackage(ctx, args),
  }),
);

builder.mutationField('installPlugin', (t) =>
  t.fieldWithInput({
    type: PluginPackage,
    description: `Installs a plugin from a public http or https address: a zip or tgz of at most ${MEGABYTES_MAX} MB, within 60 seconds and without redirects. It is inactive then; of an active plugin the new version waits for an activation. ${RECENT_LOGIN}`,
    authScopes: forAdministrators,
    typeOptions: { checks: packageUrlInput.shape },
    ...ONCE,
    input: {
      url: t.input.string({ required: true }),
      sha256: t.input.string({
        description: `${proofDescriptions.sha256} Required unless the setting PLUGIN_CHECKSUM is \`optional\`.`,
      }),
      signature: t.input.string({ description: proofDescriptions.signature }),
    },
    resolve: (_root, { input }, ctx) => installPlugin(ctx, input),
  }),
);

builder.mutationField('startPluginUpload', (t) =>
  t.fieldWithInput({
    type: PluginPackage,
    description: `Begins the installation of a plugin from a file of at most ${MEGABYTES_MAX} MB. It follows in pieces, then finishPluginUpload. ${RECENT_LOGIN}`,
    authScopes: forAdministrators,
    typeOptions: { checks: packageProofInput.shape },
    input: {
      sha256: t.input.string({ description: proofDescriptions.sha256 }),
      signature: t.input.string({ description: proofDescriptions.signature }),
    },
    resolve: (_root, { input }, ctx) => startPluginUpload(ctx, input),
  }),
);

builder.mutationField('appendToPluginUpload', (t) =>
  t.fieldWithInput({
    type: PluginPackage,
    description: 'Uploads one piece of the file, of at most 1 MiB. The same number again changes nothing.',
    authScopes: forAdministrators,
    typeOptions: { checks: packagePieceInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      no: t.input.int({ required: true, description: 'Counted from 0.' }),
      bytes: t.input.field({ type: 'Base64', required: true }),
    },
    resolve: (_root, { input }, ctx) => appendToPluginUpload(ctx, input),
  }),
);

builder.mutationField('finishPluginUpload', (t) =>
  t.field({
    type: PluginPackage,
    description: 'Ends the upload, after all pieces: the file is checked, and the plugin installed.',
    authScopes: forAdministrators,
    ...ONCE,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, args, ctx) => finishPluginUpload(ctx, args),
  }),
);

builder.mutationField('cancelPluginPackage', (t) =>
  t.field({
    type: PluginPackage,
    description: 'Cancels the installation of a plugin that is under way; nothing of it is left.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, args, ctx) => cancelPluginPackage(ctx, args),
  }),
);

builder.mutationField('rollBackPlugin', (t) =>
  t.fieldWithInput({
    type: Plugin,
    description: `Goes back to the installed version that was used before; an active plugin is activated with it. Migrations of the newer version are not taken back. ${RECENT_LOGIN}`,
    authScopes: forAdministrators,
    typeOptions: { checks: pluginKeyInput.shape },
    ...ONCE,
    input: { vendor: t.input.string({ required: true }), name: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => rollBackPlugin(ctx, input),
  }),
);
