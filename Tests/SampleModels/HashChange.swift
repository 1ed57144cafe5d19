package import CDModel

/// One change of the sample and the hashes of the version that it alters.
package struct HashChange: Sendable, CustomStringConvertible {
  package enum Part: Hashable, Sendable { case data, layout, definition }

  package typealias Make = @Sendable (inout ModelVersion) throws -> Void

  package let description: String
  package let alters: Set<Part>
  package let make: Make
}

extension HashChange {
  package static let all: [HashChange] =
    dataChanges + layoutChanges + definitionChanges + changesOfAll + changesOfNone

  private static let dataChanges = changes(
    [.data, .definition],
    [
      "an entity is added": { $0.entities.append(EntityDescription(name: "New")) },
      "an entity is removed": { $0.entities.removeAll { $0.name == "Review" } },
      "an entity is renamed": { $0.entity("Publisher") { $0.name = "House" } },
      "an entity becomes abstract": { $0.entity("Review") { $0.isAbstract = true } },
      "an entity gets a parent": { $0.entity("Review") { $0.parent = "Publication" } },
      "an entity loses its parent": { $0.entity("Book") { $0.parent = nil } },
      "an entity gets an unknown parent": { $0.entity("Review") { $0.parent = "Gone" } },
      "an entity's hash modifier": { $0.entity("Book") { $0.hashModifier = "b3" } },
      "an attribute is added":
        { $0.entity("Review") { $0.attributes.append(AttributeDescription(name: "n", type: .bool)) } },
      "an attribute is removed": { $0.entity("Book") { $0.attributes.removeAll { $0.name == "pages" } } },
      "an attribute is renamed": { $0.attribute("Book", "pages") { $0.name = "leaves" } },
      "an attribute's type": { $0.attribute("Book", "pages") { $0.type = .int64 } },
      "an attribute becomes optional": { $0.attribute("Book", "isbn") { $0.isOptional = true } },
      "an attribute is stored externally": { $0.attribute("Review", "text") { $0.storesExternally = true } },
      "an attribute is stored": { $0.attribute("Book", "draft") { $0.isTransient = false } },
      "an attribute is no longer stored": { $0.attribute("Book", "pages") { $0.isTransient = true } },
      "an attribute's hash modifier": { $0.attribute("Book", "id") { $0.hashModifier = nil } },
      "a derivation":
        { version in
          let other = try ValueExpression(format: "reviews.@count + 1")
          version.attribute("Book", "reviewCount") { $0.derivation = other }
        },
      "a derivation is removed": { $0.attribute("Book", "reviewCount") { $0.derivation = nil } },
      "a codec": {
        $0.attribute("Book", "settings") { $0.type = .codable(type: "MyApp.Settings", codec: 3) }
      },
      "a codable type": { $0.attribute("Book", "settings") { $0.type = .codable(type: "Other", codec: 2) } },
      "an attribute's enumeration": { $0.attribute("Book", "priority") { $0.type = .enumeration("Unused") } },
      "an enumeration gives way to its raw type": { $0.attribute("Book", "priority") { $0.type = .int16 } },
      "an attribute's composite": { $0.attribute("Book", "shippedTo") { $0.type = .composite("Spare") } },
      "an unknown composite": { $0.attribute("Book", "shippedTo") { $0.type = .composite("Gone") } },
      "a raw type": { $0.enums[0].rawType = .int32 },
      "a case is added": { $0.enums[0].cases.append(.init(name: "top", rawValue: .int(3))) },
      "a case is removed": { $0.enums[0].cases.removeLast() },
      "a case is renamed": { $0.enums[0].cases[1].name = "usual" },
      "a case's raw value": { $0.enums[0].cases[1].rawValue = .int(7) },
      "the order of cases": { $0.enums[0].cases.swapAt(0, 1) },
      "a case of an enumeration in a composite":
        { $0.enums[1].cases.append(.init(name: "peru", rawValue: .string("PE"))) },
      "a field is added":
        { $0.composites[0].fields.append(AttributeDescription(name: "zip", type: .string)) },
      "a field's name": { $0.composites[0].fields[0].name = "road" },
      "a field's type": { $0.composites[0].fields[0].type = .data },
      "a field becomes mandatory": { $0.composites[0].fields[1].isOptional = false },
      "a relationship is added":
        {
          $0.entity("Review") {
            $0.relationships.append(RelationshipDescription(name: "reply", destination: "Review"))
          }
        },
      "a relationship is removed": { $0.entity("Book") { $0.relationships.remove(at: 1) } },
      "a relationship is renamed": { $0.relationship("Book", "sequel") { $0.name = "later" } },
      "a destination": { $0.relationship("Book", "sequel") { $0.destination = "Publication" } },
      "an inverse": { $0.relationship("Book", "sequel") { $0.inverse = "sequel" } },
      "a relationship becomes to-many": { $0.relationship("Book", "sequel") { $0.isToMany = true } },
      "a relationship becomes mandatory": { $0.relationship("Book", "sequel") { $0.isOptional = false } },
      "a relationship becomes ordered": { $0.relationship("Book", "reviews") { $0.isOrdered = true } },
      "a relationship's hash modifier": { $0.relationship("Book", "sequel") { $0.hashModifier = "r2" } },
      "a reference is no longer enforced": {
        $0.relationship("Book", "sequel") { $0.deleteRule = .noAction }
      },
      "a reference is enforced": { $0.relationship("Book", "publisher") { $0.deleteRule = .nullify } },
    ])

  private static let layoutChanges = changes(
    [.layout, .definition],
    [
      "an index is added":
        { $0.entity("Review") { $0.indexes = [IndexDescription(elements: [SortKey("text")])] } },
      "an index is removed": { $0.entity("Book") { $0.indexes.removeLast() } },
      "the order of an index's elements": { $0.entity("Book") { $0.indexes[0].elements.swapAt(0, 1) } },
      "a direction": { $0.entity("Book") { $0.indexes[0].elements[0].isAscending = false } },
      "a unique constraint is added": { $0.entity("Review") { $0.uniquenessConstraints = [["text"]] } },
      "a unique constraint is removed": { $0.entity("Book") { $0.uniquenessConstraints.removeFirst() } },
      "the order within a constraint": { $0.entity("Book") { $0.uniquenessConstraints[1].swapAt(0, 1) } },
      "an index becomes a constraint":
        {
          $0.entity("Publication") {
            $0.indexes = []
            $0.uniquenessConstraints = [["title"]]
          }
        },
    ])

  private static let definitionChanges = changes(
    [.definition],
    [
      "the versions it follows": { $0.basedOn = [1, 0] },
      "a class": { $0.entity("Book") { $0.className = nil } },
      "an entity's former name": { $0.entity("Book") { $0.renamedFrom = nil } },
      "an entity's info": { $0.entity("Book") { $0.info["a"] = "c" } },
      "a default": { $0.attribute("Book", "edition") { $0.defaultValue = .value(.int(2)) } },
      "a default is removed": { $0.attribute("Book", "edition") { $0.defaultValue = nil } },
      "a default becomes null": { $0.attribute("Book", "height") { $0.defaultValue = .value(.null) } },
      "a default's kind": { $0.attribute("Book", "printed") { $0.defaultValue = .now } },
      "a minimum": { $0.attribute("Book", "price") { $0.minimum = .int(1) } },
      "a maximum": { $0.attribute("Book", "price") { $0.maximum = nil } },
      "a minimum length": { $0.attribute("Book", "isbn") { $0.minimumLength = 9 } },
      "a maximum length": { $0.attribute("Book", "isbn") { $0.maximumLength = 18 } },
      "a pattern": { $0.attribute("Book", "isbn") { $0.pattern = ".*" } },
      "an attribute's Swift name": { $0.attribute("Book", "id") { $0.propertyName = nil } },
      "an attribute's former name": { $0.attribute("Book", "id") { $0.renamedFrom = nil } },
      "an attribute's info": { $0.attribute("Book", "id") { $0.info = [:] } },
      "a transient attribute's type": { $0.attribute("Book", "draft") { $0.type = .string } },
      "a transient attribute is removed":
        { $0.entity("Book") { $0.attributes.removeAll { $0.name == "draft" } } },
      "a delete rule": { $0.relationship("Book", "reviews") { $0.deleteRule = .deny } },
      "a delete rule where the other side leaves the reference alone":
        { $0.relationship("Publisher", "books") { $0.deleteRule = .noAction } },
      "a lowest count": { $0.relationship("Book", "reviews") { $0.minimumCount = 1 } },
      "a highest count": { $0.relationship("Book", "reviews") { $0.maximumCount = nil } },
      "a relationship's Swift name": { $0.relationship("Book", "sequel") { $0.propertyName = nil } },
      "a relationship's former name": { $0.relationship("Book", "sequel") { $0.renamedFrom = nil } },
      "a relationship's info": { $0.relationship("Book", "sequel") { $0.info = [:] } },
      "a fetched property's name": { $0.entity("Book") { $0.fetchedProperties[0].name = "more" } },
      "a fetched property's entity": { $0.entity("Book") { $0.fetchedProperties[0].entity = "Review" } },
      "a fetched property's predicate": { $0.entity("Book") { $0.fetchedProperties[0].predicate = nil } },
      "a fetched property's order": { $0.entity("Book") { $0.fetchedProperties[0].sort.swapAt(0, 1) } },
      "a fetched property's limit": { $0.entity("Book") { $0.fetchedProperties[0].limit = nil } },
      "a fetched property's Swift name": { $0.entity("Book") { $0.fetchedProperties[0].swiftName = nil } },
      "a fetched property's info": { $0.entity("Book") { $0.fetchedProperties[0].info = [:] } },
      "a fetch's name": { $0.entity("Book") { $0.fetchTemplates[0].name = "dear" } },
      "a fetch's predicate": { $0.entity("Book") { $0.fetchTemplates[0].predicate = nil } },
      "a fetch's order": { $0.entity("Book") { $0.fetchTemplates[0].sort = [] } },
      "a fetch's limit": { $0.entity("Book") { $0.fetchTemplates[0].limit = 6 } },
      "an enumeration's name":
        { version in
          version.enums[0].name = "Urgency"
          version.attribute("Book", "priority") { $0.type = .enumeration("Urgency") }
        },
      "a composite's name":
        { version in
          version.composites[0].name = "Place"
          version.attribute("Book", "shippedTo") { $0.type = .composite("Place") }
        },
      "an enumeration that nothing uses": { $0.enums[2].cases = [] },
      "a composite that nothing uses": { $0.composites[1].fields = [] },
      "a field's default": { $0.composites[0].fields[2].defaultValue = nil },
      "a configuration's name": { $0.configurations[0].name = "Volumes" },
      "a configuration's entities": { $0.configurations[0].entities = ["Book"] },
      "a configuration is removed": { $0.configurations.removeLast() },
    ])

  private static let changesOfAll = changes(
    [.data, .layout, .definition],
    [
      "an entity with an index is renamed": { $0.entity("Publication") { $0.name = "Work" } },
      "an entity with an index is removed": { $0.entities.removeAll { $0.name == "Publication" } },
    ])

  private static let changesOfNone = changes(
    [],
    [
      "the number": { $0.number = 3 },
      "the label": { $0.label = nil },
      "an entity's comment": { $0.entity("Book") { $0.doc = nil } },
      "an attribute's comment": { $0.attribute("Book", "id") { $0.doc = "New." } },
      "a relationship's comment": { $0.relationship("Book", "sequel") { $0.doc = "New." } },
      "a fetched property's comment": { $0.entity("Book") { $0.fetchedProperties[0].doc = nil } },
      "a fetch's comment": { $0.entity("Book") { $0.fetchTemplates[0].doc = nil } },
      "an enumeration's comment": { $0.enums[0].doc = nil },
      "a composite's comment": { $0.composites[0].doc = nil },
      "a field's comment": { $0.composites[0].fields[1].doc = nil },
      "the order of enumerations": { $0.enums.reverse() },
      "the order of composites": { $0.composites.reverse() },
      "the order of fields": { $0.composites[0].fields.reverse() },
      "the order of entities": { $0.entities.reverse() },
      "the order of attributes": { $0.entity("Book") { $0.attributes.reverse() } },
      "the order of relationships": { $0.entity("Book") { $0.relationships.reverse() } },
      "the order of fetches": { $0.entity("Book") { $0.fetchTemplates.reverse() } },
      "the order of indexes": { $0.entity("Book") { $0.indexes.reverse() } },
      "the order of unique constraints": { $0.entity("Book") { $0.uniquenessConstraints.reverse() } },
      "the order of configurations": { $0.configurations.reverse() },
      "the order in a configuration": { $0.configurations[0].entities.reverse() },
    ])

  private static func changes(_ alters: Set<Part>, _ changes: KeyValuePairs<String, Make>) -> [HashChange] {
    changes.map { HashChange(description: $0.key, alters: alters, make: $0.value) }
  }
}

extension ModelVersion {
  package mutating func entity(_ name: String, _ change: (inout EntityDescription) -> Void) {
    for place in entities.indices where entities[place].name == name { change(&entities[place]) }
  }

  package mutating func attribute(
    _ entity: String, _ name: String, _ change: (inout AttributeDescription) -> Void
  ) {
    self.entity(entity) { entity in
      for place in entity.attributes.indices where entity.attributes[place].name == name {
        change(&entity.attributes[place])
      }
    }
  }

  package mutating func relationship(
    _ entity: String, _ name: String, _ change: (inout RelationshipDescription) -> Void
  ) {
    self.entity(entity) { entity in
      for place in entity.relationships.indices where entity.relationships[place].name == name {
        change(&entity.relationships[place])
      }
    }
  }
}
