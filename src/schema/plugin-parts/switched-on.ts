/** What a plugin adds to the APIs is for customers for whom it acts: all, or those that have switched it on. */
import { switchedOff } from '../../domain/plugins/plugin-errors.ts';
import type { GraphqlContext } from '../context.ts';
import { pluginCallerOf } from './plugin-caller.ts';

/** Whether the plugin acts for the caller's customer. A stranger has none: what is public is for everybody. */
export async function actsForCaller(ctx: GraphqlContext, plugin: string): Promise<boolean> {
  const { viewer } = await pluginCallerOf(ctx);
  return viewer === null || ctx.hooks.mayActFor(plugin, viewer.customerUid);
}

/** Throws ForbiddenError `PLUGIN_SWITCHED_OFF`. */
export async function requireSwitchedOn(ctx: GraphqlContext, plugin: string): Promise<void> {
  if (!(await actsForCaller(ctx, plugin))) throw switchedOff(plugin);
}
