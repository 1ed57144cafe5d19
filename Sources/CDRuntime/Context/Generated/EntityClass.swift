/// A generated class of an entity, which ``ManagedObject/entityName`` names. Its static functions fetch.
///
/// Code that is written for any of them is generic:
///
/// ```swift
/// func newest<Object: EntityClass>(in context: ManagedObjectContext) throws -> Object? {
///   try Object.objects(in: context).last
/// }
/// let author: Author? = try newest(in: context)
/// ```
public protocol EntityClass: ManagedObject {}
