@testable import CDRuntime

/// The kinds of changes, without what they say. A new one does not compile here before it has a name, and then needs
/// a case among ``MatrixCase/all``.
enum ChangeKind: String, CaseIterable {
  case entityAdded, entityRemoved, entityRenamed, parentChanged, entityBecameAbstract, entityBecameConcrete
  case entityUnmapped, objectsFiltered, ownedObjectsLeft, modifierChanged, entityLeftConfiguration
  /// With which no step is made.
  case undecided
  case attributeAdded, attributeRemoved, attributeRenamed, renameUnresolved, attributeMoved
  case attributeTypeChanged, codableChanged, attributeBecameOptional, attributeBecameMandatory
  case attributeBecameTransient, attributeBecameStored, attributeBecameDerived, attributeBecamePlain
  case derivationChanged, defaultChanged, storageChanged, rulesTightened
  case casesAdded, casesRenamed, casesRemoved, caseValuesChanged, becameEnumeration
  case relationshipAdded, relationshipRemoved, relationshipRenamed, relationshipMoved
  case relationshipDestinationChanged, relationshipBecameToMany, relationshipBecameToOne
  case relationshipBecameOrdered, relationshipBecameUnordered, relationshipBecameOptional
  case relationshipBecameMandatory, inverseChanged, deleteRuleChanged
  case uniqueConstraintAdded, uniqueConstraintRemoved, indexesChanged

  init(_ kind: ModelChange.Kind) {
    self =
      switch kind {
      case .entityAdded: .entityAdded
      case .entityRemoved: .entityRemoved
      case .entityRenamed: .entityRenamed
      case .parentChanged: .parentChanged
      case .entityBecameAbstract: .entityBecameAbstract
      case .entityBecameConcrete: .entityBecameConcrete
      case .entityUnmapped: .entityUnmapped
      case .objectsFiltered: .objectsFiltered
      case .ownedObjectsLeft: .ownedObjectsLeft
      case .modifierChanged: .modifierChanged
      case .undecided: .undecided
      case .entityLeftConfiguration: .entityLeftConfiguration
      case .attributeAdded: .attributeAdded
      case .attributeRemoved: .attributeRemoved
      case .attributeRenamed: .attributeRenamed
      case .renameUnresolved: .renameUnresolved
      case .attributeMoved: .attributeMoved
      case .attributeTypeChanged: .attributeTypeChanged
      case .codableChanged: .codableChanged
      case .attributeBecameOptional: .attributeBecameOptional
      case .attributeBecameMandatory: .attributeBecameMandatory
      case .attributeBecameTransient: .attributeBecameTransient
      case .attributeBecameStored: .attributeBecameStored
      case .attributeBecameDerived: .attributeBecameDerived
      case .attributeBecamePlain: .attributeBecamePlain
      case .derivationChanged: .derivationChanged
      case .defaultChanged: .defaultChanged
      case .storageChanged: .storageChanged
      case .rulesTightened: .rulesTightened
      case .casesAdded: .casesAdded
      case .casesRenamed: .casesRenamed
      case .casesRemoved: .casesRemoved
      case .caseValuesChanged: .caseValuesChanged
      case .becameEnumeration: .becameEnumeration
      case .relationshipAdded: .relationshipAdded
      case .relationshipRemoved: .relationshipRemoved
      case .relationshipRenamed: .relationshipRenamed
      case .relationshipMoved: .relationshipMoved
      case .relationshipDestinationChanged: .relationshipDestinationChanged
      case .relationshipBecameToMany: .relationshipBecameToMany
      case .relationshipBecameToOne: .relationshipBecameToOne
      case .relationshipBecameOrdered: .relationshipBecameOrdered
      case .relationshipBecameUnordered: .relationshipBecameUnordered
      case .relationshipBecameOptional: .relationshipBecameOptional
      case .relationshipBecameMandatory: .relationshipBecameMandatory
      case .inverseChanged: .inverseChanged
      case .deleteRuleChanged: .deleteRuleChanged
      case .uniqueConstraintAdded: .uniqueConstraintAdded
      case .uniqueConstraintRemoved: .uniqueConstraintRemoved
      case .indexesChanged: .indexesChanged
      }
  }
}
