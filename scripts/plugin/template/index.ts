/** What Mailwright loads: the plugin by its name. */
import { definePlugin } from 'mailwright/plugin-api';
import { boot } from './src/service-provider.ts';

export const plugin = definePlugin({ name: 'vendorname/pluginname', boot });
