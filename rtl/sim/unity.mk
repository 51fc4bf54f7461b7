# How a model of Verilator is compiled, where make reads this file first (MAKEFILES): what runs in each
# cycle as one file, the rest as another. Of a large model Verilator would compile 20 files, behind headers
# that it compiles twice before them, for three times the processor time. A program's main, where Verilator
# is given one, is small and belongs to the first file: most of its time goes into the same headers.
#
# With VM_DEFAULT_RULES=0 VM_PARALLEL_BUILDS=1 VK_USER_OBJS=, and VK_OBJS_FAST, VK_OBJS_SLOW as below.

mains = $(foreach class,$(VM_USER_CLASSES),$(wildcard $(addsuffix /$(class).cpp,$(VM_USER_DIR))))

%__fast.cpp: %.mk
	@printf '#include "%s.cpp"\n' $(VM_CLASSES_FAST) $(VM_SUPPORT_FAST) \
		$(basename $(mains)) >$@

%__slow.cpp: %.mk
	@printf '#include "%s.cpp"\n' $(VM_CLASSES_SLOW) $(VM_SUPPORT_SLOW) >$@

%__slow.o: %__slow.cpp
	$(CXX) $(OPT_SLOW) $(CXXFLAGS) $(CPPFLAGS) -c -o $@ $<

%.o: %.cpp
	$(CXX) $(OPT_FAST) $(CXXFLAGS) $(CPPFLAGS) -c -o $@ $<
