/** Sending domains: an extension of the contract, in the manner of the sending servers. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentDomain, presentDomainRow } from './present.ts';
import { domainActionShape, domainDeletedShape, domainRowShape, oneDomainShape } from './shapes.ts';

export const sendingDomainRows = [
  endpoint({
    method: 'GET',
    path: '/sending_domains',
    access: 'token',
    summary: 'Lists the sending domains.',
    answers: answersPage(domainRowShape),
    operation: 'SendingDomains',
    variables: pageArguments,
    present: ({ sendingDomainsPage }) => page(sendingDomainsPage, presentDomainRow),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_domains',
    access: 'token',
    summary: 'Makes a sending domain with its DKIM keys, and answers the DNS records to publish.',
    answers: answersCreated(domainActionShape),
    required: ['name'],
    operation: 'CreateSendingDomain',
    variables: (input) => ({ input: { ...fields(input), name: input.text('name') ?? '' } }),
    present: ({ createSendingDomain: domain }) =>
      created('Sending domain was successfully created', {
        sending_domain_uid: domain.uid,
        sending_domain: presentDomain(domain),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/sending_domains/:uid',
    access: 'token',
    summary: 'Shows one sending domain: its records, and the values found in the DNS.',
    answers: answersBody(oneDomainShape),
    operation: 'SendingDomain',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ sendingDomain }) => ok({ sending_domain: presentDomain(sendingDomain) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/sending_domains/:uid',
    access: 'token',
    summary: 'Changes how a sending domain signs, and the names of its hosts.',
    answers: answersBody(domainActionShape),
    operation: 'UpdateSendingDomain',
    variables: (input) => ({ input: { ...fields(input), uid: input.param('uid') } }),
    present: ({ updateSendingDomain: domain }) =>
      done('Sending domain was successfully updated', {
        sending_domain_uid: domain.uid,
        sending_domain: presentDomain(domain),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_domains/:uid/verify',
    access: 'token',
    summary: 'Checks the DNS records of a sending domain now; at most every ten seconds.',
    answers: answersBody(domainActionShape),
    operation: 'VerifySendingDomain',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ verifySendingDomain: domain }) =>
      done('Sending domain was checked', { sending_domain_uid: domain.uid, sending_domain: presentDomain(domain) }),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_domains/:uid/rotate',
    access: 'token',
    summary: 'Makes new DKIM keys; they replace the old ones when their records are seen in the DNS.',
    answers: answersBody(domainActionShape),
    operation: 'RotateDkimKeys',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ rotateDkimKeys: domain }) =>
      done('New DKIM keys were created', { sending_domain_uid: domain.uid, sending_domain: presentDomain(domain) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/sending_domains/:uid',
    access: 'token',
    summary: 'Deletes a sending domain with its keys.',
    answers: answersBody(domainDeletedShape),
    operation: 'DeleteSendingDomain',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteSendingDomain: { uid } }) => done('Deleted', { sending_domain_uid: uid }),
  }),
];

function fields(input: Input) {
  return {
    usesEd25519: input.flag('uses_ed25519'),
    isDefault: input.flag('is_default'),
    returnPathSubdomain: input.text('return_path_subdomain'),
    trackingSubdomain: input.text('tracking_subdomain'),
  };
}
