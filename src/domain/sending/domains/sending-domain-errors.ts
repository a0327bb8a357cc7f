/** The errors of sending domains, by code. */
import {
  ForbiddenError,
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../../lib/errors.ts';
import { sentByFlows, type FlowUse } from '../../flow-uses/flow-use.ts';
import { CHECK_PAUSE_SECONDS, DOMAINS_PER_CUSTOMER_MAX } from './sending-domain.ts';

const NO_DOMAIN = ['SENDING_DOMAIN_NOT_FOUND', 'No sending domain has this uid.'] as const;
export const domainNotFound = () => new NotFoundError(...NO_DOMAIN);
export const foreignDomain = () => new ForeignResourceError(...NO_DOMAIN);

export const domainOfFlows = (uses: readonly FlowUse[]) =>
  new WrongStateError('SENDING_DOMAIN_IN_USE', sentByFlows('sending domain', uses));

export const domainExists = (name: string) =>
  new ValidationError({ name: [`There is a sending domain ${name} already.`] }, 'SENDING_DOMAIN_EXISTS');

export const tooManyDomains = () =>
  new ValidationError(
    { name: [`A customer may not have more than ${DOMAINS_PER_CUSTOMER_MAX} sending domains.`] },
    'TOO_MANY_SENDING_DOMAINS',
  );

/** With the text of the input's own check. */
export const sameHosts = () =>
  new ValidationError({
    trackingSubdomain: ['The tracking subdomain must differ from the return path subdomain.'],
  });

export const defaultIsForAdministrators = () =>
  new ForbiddenError(
    'SENDING_DOMAIN_DEFAULT',
    'Only an administrator can choose the domain that signs for all customers.',
  );

export const checkedJustNow = () =>
  new RateLimitedError(
    'SENDING_DOMAIN_CHECKED_JUST_NOW',
    'The DNS of this domain was checked a moment ago. Wait ten seconds before you check again.',
    CHECK_PAUSE_SECONDS,
  );

export const rotationUnderWay = () =>
  new WrongStateError(
    'DKIM_ROTATION_UNDER_WAY',
    'There are new keys that wait for their DNS records: publish these, then verify the domain.',
  );
