/** The errors of plugins, by code. */
import type { PluginRights } from '../../plugin-api/index.ts';
import { ForbiddenError, NotFoundError, ValidationError, WrongStateError } from '../../lib/errors.ts';

export const pluginNotFound = () => new NotFoundError('PLUGIN_NOT_FOUND', 'No plugin has this vendor and name.');

export const switchedOffText = (plugin: string) => `The customer has not switched on the plugin "${plugin}".`;

export const switchedOff = (plugin: string) => new ForbiddenError('PLUGIN_SWITCHED_OFF', switchedOffText(plugin));

export const formNotFound = () =>
  new NotFoundError('PLUGIN_FORM_NOT_FOUND', 'This plugin has no such form for settings.');

/** Nothing was changed; the reason is kept with the plugin. */
export const activationFailed = (reason: string) =>
  new ValidationError({ plugin: [reason] }, 'PLUGIN_ACTIVATION_FAILED', 'The plugin was not activated.');

/** What the administrator has to name to activate it. */
export const grantNeeded = ({ scopes, hosts, browserHosts, customers }: PluginRights) => {
  const list = (what: string, names: readonly string[]) =>
    `The plugin asks for the ${what} ${names.join(', ')}. Pass them as "${what}" if you agree.`;
  const all =
    'The plugin asks to act for all customers. Pass "forAllCustomers" (REST: "for_all_customers") if you agree.';
  const toBrowsers = `The plugin asks to send browsers to ${browserHosts.join(', ')}. Pass them as "browserHosts" (REST: "browser_hosts") if you agree.`;
  const fields = {
    ...(scopes.length > 0 ? { scopes: [list('scopes', scopes)] } : {}),
    ...(hosts.length > 0 ? { hosts: [list('hosts', hosts)] } : {}),
    ...(browserHosts.length > 0 ? { browserHosts: [toBrowsers] } : {}),
    ...(customers === 'all' ? { forAllCustomers: [all] } : {}),
  };
  return new ValidationError(fields, 'PLUGIN_GRANT_NEEDED', 'The plugin needs more rights than it was granted.');
};

export const onlyPeopleGrant = () =>
  new ForbiddenError('FORBIDDEN', 'A plugin cannot activate plugins: that grants rights.');

export const onlyPeopleSwitch = () => new ForbiddenError('FORBIDDEN', 'Only the customer switches plugins on and off.');

export const deletionFailed = (reason: string) =>
  new ValidationError({ plugin: [reason] }, 'PLUGIN_DELETION_FAILED', 'The plugin was not deleted.');

export const pluginIsActive = () => new WrongStateError('PLUGIN_IS_ACTIVE', 'Deactivate the plugin first.');

export const pluginIsBundled = () =>
  new WrongStateError(
    'PLUGIN_IS_BUNDLED',
    'This plugin is part of the product: deactivate it, or remove its folder from the program.',
  );

export const packageNotFound = () => new NotFoundError('PLUGIN_PACKAGE_NOT_FOUND', 'No package has this uid.');

export const checksumMissing = () =>
  new ValidationError(
    { sha256: ['The SHA-256 checksum of the file is required. Its author publishes it beside the file.'] },
    'PLUGIN_CHECKSUM_MISSING',
  );

export const signatureMissing = () =>
  new ValidationError(
    { signature: ['A signature is required, because this installation trusts only the keys of PLUGIN_KEYS.'] },
    'PLUGIN_SIGNATURE_MISSING',
  );

/** Nothing was changed; the reason is kept with the package. */
export const packageRefused = (field: string, reason: string) =>
  new ValidationError({ [field]: [reason] }, 'PLUGIN_PACKAGE_REFUSED', 'The plugin was not installed.');

export const pieceWrong = (reason: string) => new ValidationError({ file: [reason] }, 'PLUGIN_PIECE_WRONG');

export const tooManyUploads = (max: number) =>
  new ValidationError({ file: [`At most ${max} uploads of plugins may be open.`] }, 'TOO_MANY_PLUGIN_UPLOADS');

export const installationRuns = () =>
  new WrongStateError('PLUGIN_INSTALLATION_RUNS', 'Another plugin is being installed. Wait for it, or cancel it.');

export const packageCancelled = () =>
  new WrongStateError('PLUGIN_PACKAGE_CANCELLED', 'The installation was cancelled. Nothing of it is left.');

export const packageEnded = () =>
  new WrongStateError('PLUGIN_PACKAGE_ENDED', 'This package is ready, has failed or was cancelled already.');

export const noFormerVersion = () =>
  new WrongStateError('PLUGIN_HAS_NO_FORMER_VERSION', 'No earlier version of this plugin is kept.');
