/** Ends `npm run plugin` on purpose: a sentence for the author, without a stack. */
export class PluginToolError extends Error {
  override readonly name = 'PluginToolError';
}
