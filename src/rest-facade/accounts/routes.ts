/** API tokens, two-factor login and the audit trail of the caller's account: extensions of the specification. */
import type {
  RestApiTokenFragment,
  RestAuditEventFragment,
  RestCreatedApiTokenFragment,
} from '../../generated/operations.ts';
import { created, done, ok } from '../answer.ts';
import { cursorArguments, cursorBody } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import { answersBody, answersCreated } from '../shapes.ts';
import { textsIn } from '../text-list.ts';
import { restTime } from '../timestamps.ts';
import {
  apiTokensShape,
  auditEventsShape,
  recoveryCodesShape,
  tokenCreatedShape,
  tokenRevokedShape,
  twoFactorBegunShape,
  twoFactorEndedShape,
} from './shapes.ts';

const DIALECTS = { standard: 'STANDARD', classic: 'CLASSIC' } as const;

export const accountRows = [
  endpoint({
    method: 'GET',
    path: '/api_tokens',
    access: 'token',
    summary: 'Lists the API tokens of the user, the newest first, without their texts.',
    details: 'Goes on with `after`: the `next` of the answer before.',
    answers: answersBody(apiTokensShape),
    isIndex: true,
    operation: 'ApiTokens',
    variables: cursorArguments,
    present: ({ apiTokens }) => ok(cursorBody('api_tokens', apiTokens, presentToken)),
  }),
  endpoint({
    method: 'POST',
    path: '/api_tokens',
    access: 'token',
    summary: 'Makes an API token; its text is shown only this once.',
    details:
      '`scopes`: an array, or one text with commas; all scopes of the calling token if it is not given. `rest_dialect`: the dialect of answers to this token.',
    answers: answersCreated(tokenCreatedShape),
    required: ['name'],
    operation: 'CreateApiToken',
    variables(input) {
      const dialect = input.choice('rest_dialect', ['standard', 'classic']);
      return {
        input: {
          name: input.text('name') ?? '',
          scopes: textsIn(input, 'scopes'),
          expiresAt: input.time('expires_at'),
          restDialect: dialect && DIALECTS[dialect],
        },
      };
    },
    present: ({ createApiToken }) => created('API token was successfully created', createdToken(createApiToken)),
  }),
  endpoint({
    method: 'POST',
    path: '/api_tokens/:uid/rotate',
    access: 'token',
    summary: 'Replaces the text of an API token; the old text stops working at once.',
    answers: answersBody(tokenCreatedShape),
    operation: 'RotateApiToken',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ rotateApiToken }) => done('API token was successfully rotated', createdToken(rotateApiToken)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/api_tokens/:uid',
    access: 'token',
    summary: 'Revokes an API token of the user at once.',
    answers: answersBody(tokenRevokedShape),
    operation: 'RevokeApiToken',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ revokeApiToken: { uid } }) => done('Deleted', { api_token_uid: uid }),
  }),
  endpoint({
    method: 'POST',
    path: '/two_factor',
    actsOutside: true,
    access: 'token',
    summary:
      'Begins two-factor login: answers the secret for an authenticator app. It is on when a code was confirmed.',
    answers: answersBody(twoFactorBegunShape),
    required: ['password'],
    operation: 'BeginTwoFactor',
    variables: (input) => ({ input: { password: input.text('password') ?? '' } }),
    present: ({ beginTwoFactor: { secret, uri } }) => done('Confirm a code of the app', { secret, uri }),
  }),
  endpoint({
    method: 'POST',
    path: '/two_factor/confirm',
    actsOutside: true,
    access: 'token',
    summary:
      'Turns two-factor login on with a code of the app, and answers recovery codes; they are shown only this once.',
    answers: answersBody(recoveryCodesShape),
    required: ['code'],
    operation: 'ConfirmTwoFactor',
    variables: (input) => ({ input: { code: input.text('code') ?? '' } }),
    present: ({ confirmTwoFactor }) => done('Two-factor login is on', codes(confirmTwoFactor)),
  }),
  endpoint({
    method: 'POST',
    path: '/two_factor/recovery_codes',
    actsOutside: true,
    access: 'token',
    summary: 'Makes new recovery codes; the old ones stop working.',
    answers: answersBody(recoveryCodesShape),
    required: ['password', 'code'],
    operation: 'RenewRecoveryCodes',
    variables: (input) => ({ input: { password: input.text('password') ?? '', code: input.text('code') ?? '' } }),
    present: ({ renewRecoveryCodes }) => done('The recovery codes were renewed', codes(renewRecoveryCodes)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/two_factor',
    actsOutside: true,
    access: 'token',
    summary: 'Turns two-factor login off.',
    answers: answersBody(twoFactorEndedShape),
    required: ['password', 'code'],
    operation: 'DisableTwoFactor',
    variables: (input) => ({ input: { password: input.text('password') ?? '', code: input.text('code') ?? '' } }),
    present: () => done('Two-factor login is off'),
  }),
  endpoint({
    method: 'GET',
    path: '/audit_events',
    access: 'token',
    summary: 'Lists what was changed in the account, the newest first.',
    details:
      'Goes on with `after`: the `next` of the answer before. An administrator names a customer by `customer_uid`, or asks for `everybody`.',
    answers: answersBody(auditEventsShape),
    isIndex: true,
    operation: 'AuditEvents',
    variables: (input) => ({
      ...cursorArguments(input),
      customerUid: input.text('customer_uid') || undefined,
      everybody: input.flag('everybody'),
    }),
    present: ({ auditEvents }) => ok(cursorBody('audit_events', auditEvents, presentEvent)),
  }),
];

function presentToken(token: RestApiTokenFragment) {
  return {
    uid: token.uid,
    name: token.name,
    kind: token.kind,
    scopes: token.scopes,
    created_at: restTime(token.createdAt),
    expires_at: restTime(token.expiresAt),
    last_used_at: restTime(token.lastUsedAt),
    last_used_ip: token.lastUsedIp,
  };
}

function createdToken({ token, apiToken }: RestCreatedApiTokenFragment) {
  return { api_token_uid: apiToken.uid, token, api_token: presentToken(apiToken) };
}

function codes({ recoveryCodes }: { readonly recoveryCodes: readonly string[] }) {
  return { recovery_codes: recoveryCodes };
}

function presentEvent(event: RestAuditEventFragment) {
  return {
    at: restTime(event.at),
    operation: event.operation,
    target_uid: event.targetUid,
    fields: event.fields,
    failure: event.failure,
    user_uid: event.userUid,
    user_email: event.userEmail,
    customer_uid: event.customerUid,
    token_uid: event.tokenUid,
    token_kind: event.tokenKind,
    plugin: event.plugin,
    entry_point: event.entryPoint,
    ip_address: event.ipAddress,
    client: event.client,
    is_by_operator: event.isByOperator,
  };
}
