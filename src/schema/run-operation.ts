/** How operations run: cost checked first, introspection only for those who may, new loaders for every event. */
import {
  createSourceEventStream,
  executeSubscriptionEvent,
  GraphQLError,
  mapSourceToResponseEvent,
  validateSubscriptionArgs,
  type ExecutionArgs,
  type ExecutionResult,
} from 'graphql';
import { freshContext, graphqlContext } from './context.ts';
import { checkCost } from './document-limits.ts';

export interface OperationPolicy {
  /** The schema may be read without a token: for the explorer. */
  readonly introspectionForAll: boolean;
}

/** Throws a GraphQLError when this operation must not run for this caller. */
export function checkOperation(args: ExecutionArgs, policy: OperationPolicy): void {
  const { document, operationName, variableValues } = args;
  const measure = checkCost(args.schema, { document, operationName, variables: variableValues });
  if (measure.introspectionDepth === 0 || policy.introspectionForAll) return;
  if (graphqlContext(args.contextValue).viewer) return;
  throw new GraphQLError('Introspection needs a valid API token.', { extensions: { code: 'INTROSPECTION_REFUSED' } });
}

/** Subscribes. Every event runs with a new context, so that no loader returns old values. */
export async function subscribeFresh(
  args: ExecutionArgs,
): Promise<AsyncGenerator<ExecutionResult, void, void> | ExecutionResult> {
  const validated = validateSubscriptionArgs(args);
  if (!('schema' in validated)) return { errors: validated };
  const stream = await createSourceEventStream(validated);
  if (!(Symbol.asyncIterator in stream)) return stream;
  const ctx = graphqlContext(args.contextValue);
  return mapSourceToResponseEvent(validated, stream, (event) =>
    // A stream's answer has no end: its content would never be given back.
    executeSubscriptionEvent({ ...event, contextValue: { ...freshContext(ctx), answer: undefined } }),
  );
}
