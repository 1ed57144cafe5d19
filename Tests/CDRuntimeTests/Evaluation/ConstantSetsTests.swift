import CDModel
import Testing

@testable import CDRuntime

/// The constants of conditions, which are evaluated for many objects.
@Suite struct ConstantSetsTests {
  @Test(.onceForAllKinds) func aListIsNamedOnce() throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(name: "A"), EntityDescription(name: "B", parent: "A"),
    ])
    let context = container.newContext()
    let id = try context.insert(entityNamed: "B").objectID
    let sets = ConstantSets(variables: ["x": EvaluationValue(id.expressionConstant)], model: context.model)

    let list = ExpressionConstant.array([id.expressionConstant, .value(.int(1))])
    let (first, second) = (sets.value(list), sets.value(list))
    guard case .collection(let elements) = first, case .collection(let others) = second else {
      Issue.record("a list is a collection")
      return
    }
    // Both are the same array. The first one is still there, so that no other can have its address.
    let address = elements.withUnsafeBytes { $0.baseAddress }
    #expect(others.withUnsafeBytes { $0.baseAddress } == address)

    let named: [EvaluationValue?] = [
      elements.first, sets.value(id.expressionConstant), sets.variables["x"],
    ]
    for value in named {
      guard case .reference(let reference)? = value else {
        Issue.record("an object is a reference")
        continue
      }
      #expect(reference.entity == "A")
    }
  }

  @Test(.onceForAllKinds) func aSetIsSortedOnce() throws {
    let container = try PersistentContainer(scratchOf: [EntityDescription(name: "A")])
    let sets = ConstantSets(variables: [:], model: container.newContext().model)
    let set = ExpressionConstant.set(Set((Int64(0)..<40).map { ExpressionConstant.value(.int($0)) }))
    let (first, second) = (sets.value(set), sets.value(set))
    guard case .collection(let elements) = first, case .collection(let others) = second else {
      Issue.record("a set is a collection")
      return
    }
    let address = elements.withUnsafeBytes { $0.baseAddress }
    #expect(elements.count == 40)
    #expect(others.withUnsafeBytes { $0.baseAddress } == address)
    let list = try #require(sets.elements(of: .constant(set)))
    #expect(sets.contains(.int(7), in: list) == true)
    #expect(sets.contains(.int(40), in: list) == false)
  }

  /// An evaluator can be used for any number of predicates.
  @Test(.onceForAllKinds) func onlySomeSetsAreKeptInOrder() throws {
    let sets = ConstantSets(variables: [:], model: nil)
    func isKept(_ number: Int64) -> Bool {
      sets.elements(of: .constant(.set([.value(.int(number)), .value(.int(-1))]))) != nil
    }
    #expect((Int64(0)..<1000).filter(isKept) == Array(0..<16))
    #expect(isKept(0))
    let evaluator = PredicateEvaluator()
    for number in Int64(0)..<100 {
      let set = ExpressionConstant.set([.value(.int(number)), .value(.int(-1))])
      let predicate = FetchPredicate(.object, .in, .constant(set))
      #expect(try evaluator.matches(predicate, .value(.int(number))))
    }
  }

  /// A fraction can equal an integer of a set that is too long for a search of each element.
  @Test(arguments: [2, 40]) func aSetContainsEqualValues(count: Int64) throws {
    let set = ExpressionConstant.set(Set((Int64(0)..<count).map { ExpressionConstant.value(.int($0)) }))
    let predicate = FetchPredicate(.object, .in, .constant(set))
    let evaluator = PredicateEvaluator()
    let values: [AttributeValue] = [
      .int(1), .double(1), .bool(true), .int(count), .double(1.5), .string("1"),
    ]
    let found = try values.map { try evaluator.matches(predicate, .value($0)) }
    #expect(found == [true, true, true, false, false, false])
  }
}
