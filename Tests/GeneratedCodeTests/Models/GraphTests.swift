import CDRuntime
import Foundation
import Testing

/// Relationships of every kind, deep inheritance and fetch templates.
@Suite struct GraphTests {
  @Test(arguments: StorePlace.allCases)
  func selfRelationshipsKeepTheirInverses(place: StorePlace) throws {
    let store = try TestStore(place, RelationshipsModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let owner = Owner(passport: Passport(number: 1, in: context), in: context)
    let nodes = (0..<4).map { Node(name: "n\($0)", owner: owner, in: context) }
    nodes[0].addToChildren([nodes[1], nodes[2]])
    nodes[0].insertIntoChildren(nodes[3], at: 1)
    nodes[0].next = nodes[1]
    nodes[1].partner = nodes[2]
    nodes[2].addToFriends(nodes[3])
    nodes[3].origin = nodes[0]
    let label = Label(text: "red", in: context)
    nodes[1].addToLabels(label)
    nodes[2].addToMarks(label)
    try context.save()
    let other = try store.reopened().newContext()
    let read = try Node.fetch(sortedBy: \.name, in: other)
    #expect(read[0].children.map(\.name) == ["n1", "n3", "n2"] && read[3].parent === read[0])
    #expect(read[1].previous === read[0] && read[2].partner === read[1])
    #expect(read[3].friends == [read[2]] && read[3].origin === read[0])
    #expect(read[1].labels.map(\.text) == ["red"] && read[2].marks.map(\.text) == ["red"])
    #expect(read[0].owner.passport.number == 1 && read[0].owner.passport.owner === read[0].owner)
    #expect(read[0].owner.nodes.count == 4 && read[0].owner.desk == nil)
    // A one-to-one that is given away leaves its former side.
    read[2].next = read[1]
    #expect(read[0].next == nil && read[1].previous === read[2])
  }

  @Test(arguments: StorePlace.allCases)
  func initialisersAreInheritedBySignature(place: StorePlace) throws {
    let store = try TestStore(place, InheritanceModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let dog = Dog(name: "Rex", weight: 30, in: context)
    let kitten = Kitten(name: "Tom", weight: 1, age: 2, mother: dog, in: context)
    _ = Creature(name: "Eel", weight: 3, in: context)
    try context.save()
    let other = try store.reopened().newContext()
    #expect(try Thing.fetch(sortedBy: \.name, in: other).map(\.name) == ["Eel", "Rex", "Tom"])
    #expect(try Cat.objects(in: other).map(\.name) == ["Tom"])
    #expect(try Pet.tameOnes(name: "Rex", in: other).map(\.weight) == [30])
    #expect(try Kitten.object(name: "Tom", in: other)?.mother.name == "Rex")
    #expect(try Thing.object(name: "Rex", in: other) is Dog)
    #expect(kitten.legs == 4 && kitten.tame)
  }

  @Test(arguments: StorePlace.allCases)
  func templatesTakeTypedVariables(place: StorePlace) throws {
    let store = try TestStore(place, FetchesModel.self)
    defer { store.remove() }
    let container = store.container
    let context = container.newContext()
    let event = Event(title: "Opening", in: context)
    let visitor = Visitor(in: context)
    var tickets: [Ticket] = []
    for number: Int16 in 1...3 {
      let spot = Spot(row: "A", seat: Int32(number))
      tickets.append(
        Ticket(
          code: "c\(number)", serial: Int64(number), kind: number == 1 ? .special : .plain,
          price: Decimal(Int(number)), spot: spot, in: number, event: event, in: context))
    }
    tickets[0].holder = visitor
    tickets[0].sold = Date(timeIntervalSinceReferenceDate: 100)
    try context.save()
    #expect(try Ticket.all(in: context).map(\.code) == ["c3", "c2", "c1"])
    #expect(try Ticket.cheaperThan(price: 3, in: context).map(\.code) == ["c1", "c2"])
    #expect(try Ticket.ofKinds(kinds: [.special], in: context).map(\.code) == ["c1"])
    #expect(try Ticket.at(event: event, holders: [visitor], in: context) == [tickets[0]])
    #expect(
      try Ticket.between(
        from: Date(timeIntervalSinceReferenceDate: 0), to: Date(timeIntervalSinceReferenceDate: 100),
        in: context) == [tickets[0]])
    #expect(try Ticket.soldTo(holder: visitor, in: context) == [tickets[0]])
    #expect(try Ticket.filtered(when: nil, in: context).count == 3)
    #expect(try Ticket.filtered(when: tickets[0].sold, in: context) == [tickets[0]])
    #expect(try Set(Ticket.coded(codes: nil, in: context)) == [tickets[0], tickets[2]])
    #expect(try Ticket.coded(codes: ["c2"], in: context) == [tickets[1]])
    #expect(try Ticket.held(holders: [visitor], in: context) == [tickets[0]])
    #expect(try Ticket.object(serial: 2, kind: .plain, in: context) === tickets[1])
    #expect(try Ticket.object(event: event, code: "c3", in: context) === tickets[2])
    #expect(tickets[1].neighbours.map { $0.code } == ["c1", "c2", "c3"])
  }
}
