/** The errors of plugins, by code. */
import { NotFoundError, ValidationError, WrongStateError } from '../../lib/errors.ts';

export const pluginNotFound = () => new NotFoundError('PLUGIN_NOT_FOUND', 'No plugin has this vendor and name.');

/** Nothing was changed; the reason is kept with the plugin. */
export const activationFailed = (reason: string) =>
  new ValidationError({ plugin: [reason] }, 'PLUGIN_ACTIVATION_FAILED', 'The plugin was not activated.');

export const deletionFailed = (reason: string) =>
  new ValidationError({ plugin: [reason] }, 'PLUGIN_DELETION_FAILED', 'The plugin was not deleted.');

export const pluginIsActive = () => new WrongStateError('PLUGIN_IS_ACTIVE', 'Deactivate the plugin first.');

export const pluginIsBundled = () =>
  new WrongStateError(
    'PLUGIN_IS_BUNDLED',
    'This plugin is part of the product: deactivate it, or remove its folder from the program.',
  );
