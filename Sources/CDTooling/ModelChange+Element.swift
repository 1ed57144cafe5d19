package import CDMapping
package import CDModel

extension ModelChange {
  /// The version of a migration step that has an element.
  package enum Side: Hashable, Sendable {
    /// The source version.
    case source
    /// The destination version.
    case destination
  }

  /// The element that the change is about. It is an element of the source if the destination no longer has it.
  package var element: (side: Side, element: ModelElement) {
    switch kind {
    case .entityRemoved(let name), .entityUnmapped(let name), .objectsFiltered(let name),
      .ownedObjectsLeft(let name, _):
      (.source, .entity(name))
    case .entityAdded(let name), .entityRenamed(_, let name), .parentChanged(let name, _, _),
      .entityBecameAbstract(let name), .entityBecameConcrete(let name):
      (.destination, .entity(name))
    case .entityLeftConfiguration(_, let name): (.destination, .configuration(name))
    case .modifierChanged(let element), .rulesTightened(let element), .renameUnresolved(let element, _),
      .undecided(let element, _):
      (.destination, element)
    case .attributeRemoved(let name): (.source, .attribute(name.property))
    case .relationshipRemoved(let name, _, _): (.source, .relationship(name))
    case .attributeAdded(let name), .attributeRenamed(_, let name), .attributeMoved(_, let name),
      .attributeTypeChanged(let name, _, _, _), .codableChanged(let name, _, _),
      .attributeBecameOptional(let name), .attributeBecameMandatory(let name),
      .attributeBecameTransient(let name), .attributeBecameStored(let name),
      .attributeBecameDerived(let name), .attributeBecamePlain(let name), .derivationChanged(let name),
      .defaultChanged(let name), .storageChanged(let name), .casesRemoved(let name, _, _),
      .caseValuesChanged(let name, _, _), .becameEnumeration(let name, _):
      // The composite declares its fields, but a change of a field is attributed to the attribute.
      (.destination, .attribute(name.property))
    case .casesAdded(let name, _), .casesRenamed(let name, _, _): (.destination, .enumeration(name))
    case .relationshipAdded(let name), .relationshipRenamed(_, let name), .relationshipMoved(_, let name),
      .relationshipDestinationChanged(let name, _, _, _), .relationshipBecameToMany(let name),
      .relationshipBecameToOne(let name, _), .relationshipBecameOrdered(let name),
      .relationshipBecameUnordered(let name), .relationshipBecameOptional(let name),
      .relationshipBecameMandatory(let name, _), .inverseChanged(let name, _, _, _),
      .deleteRuleChanged(let name):
      (.destination, .relationship(name))
    case .uniqueConstraintAdded(let name, _): (.destination, .uniquenessConstraints(entity: name))
    case .uniqueConstraintRemoved(let name, _): (.destination, .entity(name))
    case .indexesChanged(let name): (.destination, .entity(name))
    }
  }
}

extension PropertyName {
  /// The property itself, without the field of a composite.
  fileprivate var property: PropertyName {
    PropertyName(entity, name.split(separator: ".").first.map(String.init) ?? "")
  }
}
