import Foundation

@testable import CDRuntime

extension MatrixCase {
  private static func version(
    _ number: Int, _ dog: [RelationshipDescription], _ person: [RelationshipDescription],
    extra: [EntityDescription] = []
  ) -> ModelVersion {
    MigrationFixture.version(
      number,
      [entity("Dog", [text], relationships: dog), entity("Person", [text], relationships: person)] + extra)
  }

  /// A person for every three dogs, and every seventh dog without one where it need not have one.
  private static func fill(
    _ key: String?, all: Bool = false, ordered: Bool = false
  ) -> @Sendable (ManagedObjectContext, Int) throws -> Void {
    { context, count in
      var persons: [ManagedObject] = []
      for number in 0..<(count + 2) / 3 {
        let person = try context.insert(entityNamed: "Person")
        try person.setValue(.attribute(.string("P\(number)")), forKey: "text")
        persons.append(person)
      }
      for number in 0..<count {
        let dog = try context.insert(entityNamed: "Dog")
        try dog.setValue(.attribute(.string("D\(number)")), forKey: "text")
        if let key, all || number % 7 != 6 { try dog.setValue(.object(persons[number / 3]), forKey: key) }
      }
      guard ordered else { return }
      for person in persons {
        let dogs = try person.value(forKey: "dogs").objects.sorted { $0.objectID.key > $1.objectID.key }
        try person.setValue(.objects(dogs), forKey: "dogs")
      }
    }
  }

  private static func pairs(all: Bool = false) -> @Sendable (Int) -> [[String?]] {
    { (0..<$0).map { ["D\($0)", all || $0 % 7 != 6 ? "P\($0 / 3)" : nil] } }
  }

  private static func joined(_ column: String) -> String {
    "SELECT d.text, p.text FROM Dog d LEFT JOIN Person p ON p._pk = d.\"\(column)\" ORDER BY d._pk"
  }

  static var relationships: [MatrixCase] {
    let owner = [toOne("owner", "Person", inverse: "dogs")]
    let dogs = [toMany("dogs", "Dog", inverse: "owner")]
    let ordered = [toMany("dogs", "Dog", inverse: "owner", isOrdered: true)]
    let mandatory = [toOne("owner", "Person", inverse: "dogs", isOptional: false)]
    let first = version(1, owner, dogs)
    return [
      MatrixCase(
        "relationships are added", [.relationshipAdded], from: version(1, [], []),
        to: version(2, owner, dogs),
        fill: fill(nil), sql: joined("owner"), rows: { (0..<$0).map { ["D\($0)", nil] } }),
      MatrixCase(
        "relationships are removed", [.relationshipRemoved], from: first, to: version(2, [], []),
        rules([
          EntityRule(destination: "Dog", drops: ["owner"]),
          EntityRule(destination: "Person", drops: ["dogs"]),
        ]), fill: fill("owner"), sql: "SELECT text FROM Dog ORDER BY _pk",
        rows: { (0..<$0).map { ["D\($0)"] } }),
      MatrixCase(
        "relationships are renamed", [.relationshipRenamed], from: first,
        to: version(
          2, [toOne("keeper", "Person", inverse: "pack", renamedFrom: "owner")],
          [toMany("pack", "Dog", inverse: "keeper", renamedFrom: "dogs")]), fill: fill("owner"),
        sql: joined("keeper"), rows: pairs()),
      MatrixCase(
        "a relationship moves to the parent", [.relationshipMoved],
        from: MigrationFixture.version(
          1,
          [
            entity("Pet", isAbstract: true, [text]),
            entity("Dog", parent: "Pet", relationships: [toOne("owner", "Person", inverse: nil)]),
            entity("Person", [text]),
          ]),
        to: MigrationFixture.version(
          2,
          [
            entity("Pet", isAbstract: true, [text], relationships: [toOne("owner", "Person", inverse: nil)]),
            entity("Dog", parent: "Pet"), entity("Person", [text]),
          ]), fill: fill("owner"),
        sql: "SELECT d.text, p.text FROM Pet d LEFT JOIN Person p ON p._pk = d.owner ORDER BY d._pk",
        rows: pairs()),
      MatrixCase(
        "a relationship leads to the parent", [.relationshipDestinationChanged],
        from: MigrationFixture.version(
          1,
          [
            entity("Dog", [text], relationships: [toOne("owner", "Person", inverse: nil)]),
            entity("Being", isAbstract: true, [text]), entity("Person", parent: "Being"),
          ]),
        to: MigrationFixture.version(
          2,
          [
            entity("Dog", [text], relationships: [toOne("owner", "Being", inverse: nil)]),
            entity("Being", isAbstract: true, [text]), entity("Person", parent: "Being"),
          ]), fill: fill("owner"),
        sql: "SELECT d.text, p.text FROM Dog d LEFT JOIN Being p ON p._pk = d.owner ORDER BY d._pk",
        rows: pairs()),
      MatrixCase(
        "one becomes many", [.relationshipBecameToMany], from: first,
        to: version(2, [toMany("owner", "Person", inverse: "dogs")], dogs), fill: fill("owner"),
        sql: "SELECT d.text, p.text FROM Dog d LEFT JOIN \"Dog.owner\" j ON j._source = d._pk "
          + "LEFT JOIN Person p ON p._pk = j._target ORDER BY d._pk", rows: pairs()),
      MatrixCase(
        "many become one", [.relationshipBecameToOne],
        from: version(1, [toMany("owner", "Person", inverse: "dogs")], dogs), to: version(2, owner, dogs),
        rules([
          EntityRule(
            destination: "Dog",
            relationships: [
              PropertyMapping(name: "owner", value: (try? ValueExpression(format: "owner[FIRST]")) ?? .null)
            ])
        ]),
        fill: { context, count in
          try fill(nil)(context, count)
          let persons = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
            .sorted { $0.objectID.key < $1.objectID.key }
          let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Dog"))
            .sorted { $0.objectID.key < $1.objectID.key }
          for (number, dog) in all.enumerated() where number % 7 != 6 {
            try dog.setValue(.objects([persons[number / 3]]), forKey: "owner")
          }
        }, sql: joined("owner"), rows: pairs()),
      MatrixCase(
        "a relationship keeps an order now", [.relationshipBecameOrdered], from: first,
        to: version(2, owner, ordered), fill: fill("owner"), sql: joined("owner"), rows: pairs()),
      MatrixCase(
        "a relationship keeps no order now", [.relationshipBecameUnordered], from: version(1, owner, ordered),
        to: version(2, owner, dogs), dropping("dogs", of: "Person"), fill: fill("owner", ordered: true),
        sql: joined("owner"), rows: pairs()),
      MatrixCase(
        "a relationship becomes optional", [.relationshipBecameOptional], from: version(1, mandatory, dogs),
        to: version(2, owner, dogs), fill: fill("owner", all: true), sql: joined("owner"),
        rows: pairs(all: true)),
      MatrixCase(
        "a relationship becomes mandatory", [.relationshipBecameMandatory],
        from: version(
          1, [owner[0], toOne("keeper", "Person", inverse: nil, isOptional: false)], dogs),
        to: version(
          2, [mandatory[0], toOne("keeper", "Person", inverse: nil, isOptional: false)], dogs),
        rules([
          EntityRule(
            destination: "Dog", relationships: [PropertyMapping(name: "owner", value: .keyPath(["keeper"]))])
        ]), fill: fill("keeper", all: true), sql: joined("owner"), rows: pairs(all: true)),
      MatrixCase(
        "an inverse goes", [.inverseChanged], from: first,
        to: version(
          2, [toOne("owner", "Person", inverse: nil)], [toMany("dogs", "Dog", inverse: nil)]),
        fill: fill("owner"),
        sql: "SELECT d.text, p.text FROM Dog d LEFT JOIN Person p ON p._pk = d.owner "
          + "WHERE d.owner IS (SELECT _source FROM \"Person.dogs\" WHERE _target = d._pk) ORDER BY d._pk",
        rows: pairs()),
    ]
  }
}
