/// A generated class of an entity, which ``ManagedObject/entityName`` names. Its static functions fetch.
public protocol EntityClass: ManagedObject {}
