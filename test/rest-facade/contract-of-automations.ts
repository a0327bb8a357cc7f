/** The contract's lines about automations: the specification's and decisions' first, then ours. */
import { action, array, index, object, section } from './contract-line.ts';

export const automations = section(
  '4.5',
  ['GET', '/automations', 'token', 200, index],
  ['POST', '/automations/:uid/execute', 'token', 200, action('automation_uid', 'run_uid')],
  ['POST', '/automations/:uid/api/call', 'token', 200, action('automation_uid', 'run_uid', 'node', 'people')],
);

export const automationExtensions = section(
  'automations',
  ['POST', '/automations', 'token', 201, action('automation_uid', 'automation')],
  ['GET', '/automations/:uid', 'token', 200, object('automation')],
  ['PATCH', '/automations/:uid', 'token', 200, action('automation_uid', 'automation')],
  ['DELETE', '/automations/:uid', 'token', 200, action('automation_uid')],
  ['POST', '/automations/:uid/copy', 'token', 201, action('automation_uid', 'automation')],
  ['GET', '/automations/:uid/check', 'token', 200, object('draft_version', 'faults', 'warnings')],
  ['POST', '/automations/:uid/publish', 'token', 200, action('automation_uid', 'version', 'warnings')],
  ['POST', '/automations/:uid/activate', 'token', 200, action('automation_uid', 'automation')],
  ['POST', '/automations/:uid/pause', 'token', 200, action('automation_uid', 'automation')],
  ['GET', '/automations/:uid/versions', 'token', 200, object('versions', 'next')],
  ['GET', '/automations/:uid/export', 'token', 200, object('format', 'name', 'flow', 'references')],
  ['POST', '/automations/import', 'token', 201, action('automation_uid', 'automation')],
  [
    'GET',
    '/automations/:uid/dry_run',
    'token',
    200,
    object('draft_version', 'from', 'paths', 'counts', 'people', 'cut_off', 'triggers_left_out'),
  ],
  ['GET', '/ready_made_flows', 'token', 200, array],
  ['POST', '/ready_made_flows/:ready_made/copy', 'token', 201, action('automation_uid', 'automation')],
  ['GET', '/automations/:uid/runs', 'token', 200, object('runs', 'next')],
  ['GET', '/automations/:uid/runs/:run_uid', 'token', 200, object('run', 'steps', 'next')],
  ['GET', '/automations/:uid/counts', 'token', 200, object('versions')],
  ['POST', '/automations/:uid/parked/retry', 'token', 200, action('automation_uid', 'runs')],
  ['POST', '/automations/:uid/parked/skip', 'token', 200, action('automation_uid', 'runs')],
  [
    'GET',
    '/automations/:uid/enter_existing',
    'token',
    200,
    object('version', 'as_of', 'matching', 'may_enter', 'refused', 'triggers', 'triggers_left_out'),
  ],
  ['POST', '/automations/:uid/enter_existing', 'token', 201, action('automation_uid', 'enrolment')],
  ['DELETE', '/automations/:uid/enter_existing', 'token', 200, action('automation_uid', 'enrolment')],
  ['GET', '/automations/:uid/enrolments', 'token', 200, object('enrolments')],
  ['POST', '/automations/:uid/tests', 'token', 201, action('automation_uid', 'test')],
  ['GET', '/automations/:uid/tests', 'token', 200, object('tests')],
  ['GET', '/automations/:uid/tests/:test_uid', 'token', 200, object('test')],
  ['DELETE', '/automations/:uid/tests/:test_uid', 'token', 200, action('automation_uid', 'test')],
  ['POST', '/automations/:uid/take-out', 'token', 200, action('automation_uid', 'runs')],
);
