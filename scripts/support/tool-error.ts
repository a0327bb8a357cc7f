/** Ends a program of this folder on purpose: a sentence for whoever runs it, without a stack. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
