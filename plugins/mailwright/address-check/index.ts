/** The bundled verifier `address-check`: what can be said about an address without asking its mailbox. */
import { definePlugin } from '../../../src/plugin-api/index.ts';
import { connectAddressCheck } from './address-verifier.ts';
import { CONFIG_KEYS, validateSettings } from './settings.ts';

/** Domains of so many addresses are looked up together: few enough that slow name servers show progress every few seconds. */
const ADDRESSES_MAX = 100;

export const plugin = definePlugin({
  name: 'mailwright/address-check',
  register(hooks) {
    hooks.add('register_email_verifier', {
      type: 'address-check',
      name: 'Address check',
      description: 'Checks form, domain, disposable domains and role names. It asks no mailbox and needs no account.',
      configKeys: [...CONFIG_KEYS],
      secretKeys: [],
      addressesMax: ADDRESSES_MAX,
      validate: validateSettings,
      connect: (settings, options) => connectAddressCheck(settings, options),
    });
  },
});
