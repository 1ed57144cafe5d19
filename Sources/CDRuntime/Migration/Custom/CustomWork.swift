/// What a step's custom mappings share while they run.
final class CustomWork {
  var isCancelled = false
  var leavesRelationships = false
  private(set) var progress = 0.0

  func make(for source: ManagedObject, in mapping: EntityMapping, _ manager: MigrationManager) throws
    -> ManagedObject
  {
    throw FetchError.unknownEntity(mapping.name)
  }
  func associate(_ source: ManagedObject, with destination: ManagedObject, in mapping: EntityMapping) {}
  func associateIfNeeded(_ source: ManagedObject, with destination: ManagedObject, in mapping: EntityMapping)
  {}
  func discardInstance(of source: ManagedObject, _ manager: MigrationManager) {}
  func destinations(of sources: [ManagedObject], in mappingName: String?, _ manager: MigrationManager) throws
    -> [ManagedObject]
  { [] }
  func sources(of destinations: [ManagedObject], in mappingName: String?, _ manager: MigrationManager) throws
    -> [ManagedObject]
  { [] }
}
