/** The lines of the contract's table about templates and transactional mail (decisions D94, D100). */
import { action, array, index, object, section, type ContractLine } from './contract-line.ts';

export const mailLines: readonly ContractLine[] = [
  ...section(
    'templates (D100)',
    ['GET', '/templates', 'token', 200, index],
    ['POST', '/templates', 'token', 201, action('template_uid', 'template')],
    ['GET', '/templates/:uid', 'token', 200, object('template')],
    ['PATCH', '/templates/:uid', 'token', 200, action('template_uid', 'template')],
    ['DELETE', '/templates/:uid', 'token', 200, action('template_uid')],
    ['POST', '/templates/:uid/copy', 'token', 201, action('template_uid', 'template')],
    ['POST', '/templates/:uid/preview', 'token', 200, object('preview')],
    ['POST', '/templates/:uid/test', 'token', 201, action('template_uid', 'tests')],
    ['POST', '/campaigns/:uid/template', 'token', 201, action('template_uid', 'template')],
    ['GET', '/built_in_templates', 'token', 200, array],
    ['POST', '/built_in_templates/:built_in/copy', 'token', 201, action('template_uid', 'template')],
  ),
  ...section(
    'transactional mail (D94)',
    ['GET', '/transactional', 'token', 200, index],
    ['POST', '/transactional', 'token', 202, action('mails')],
    ['GET', '/transactional/:uid', 'token', 200, object('transactional')],
    ['DELETE', '/transactional/:uid', 'token', 200, action('transactional_uid')],
    ['POST', '/transactional/:uid/resend', 'token', 202, action('transactional_uid')],
  ),
];
